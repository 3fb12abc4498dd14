package router

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/netip"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/google/nftables/xt"
	"golang.org/x/sys/unix"
)

// Offsets of the ports in a TCP or UDP header.
const (
	sourcePort      = 0
	destinationPort = 2
)

// port matches a port of TCP or UDP. Other protocols have none: what an ICMP
// header has in its place never is a number of ours, its type is the first byte.
func port(offset uint32, n uint16) []expr.Any {
	return []expr.Any{
		&expr.Payload{DestRegister: 1, Base: expr.PayloadBaseTransportHeader, Offset: offset, Len: 2},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: binary.BigEndian.AppendUint16(nil, n)},
	}
}

// loopback matches what a host sends to itself.
func loopback() []expr.Any {
	return []expr.Any{
		&expr.Meta{Key: expr.MetaKeyIIFNAME, Register: 1},
		&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte("lo\x00")},
	}
}

func count(counter string) expr.Any {
	return &expr.Objref{Type: unix.NFT_OBJECT_COUNTER, Name: counter}
}

func verdict(k expr.VerdictKind) expr.Any { return &expr.Verdict{Kind: k} }
func jump(chain string) expr.Any          { return &expr.Verdict{Kind: expr.VerdictJump, Chain: chain} }
func goTo(chain string) expr.Any          { return &expr.Verdict{Kind: expr.VerdictGoto, Chain: chain} }

// chance matches that many percent of all packets, each by itself.
func chance(percent float64) []expr.Any {
	const all = 1 << 24
	return []expr.Any{
		&expr.Numgen{Register: 1, Type: unix.NFT_NG_RANDOM, Modulus: all},
		&expr.Byteorder{SourceRegister: 1, DestRegister: 1, Op: expr.ByteorderHton, Len: 4, Size: 4},
		&expr.Cmp{Op: expr.CmpOpLt, Register: 1, Data: binary.BigEndian.AppendUint32(nil, uint32(math.Round(percent/100*all)))},
	}
}

// rejections answer TCP with a reset and all else with ICMP.
func rejections() [][]expr.Any {
	const prohibited = 13 // communication administratively prohibited, RFC 1812 5.2.7.1
	return [][]expr.Any{
		{
			&expr.Meta{Key: expr.MetaKeyL4PROTO, Register: 1},
			&expr.Cmp{Op: expr.CmpOpEq, Register: 1, Data: []byte{unix.IPPROTO_TCP}},
			&expr.Reject{Type: unix.NFT_REJECT_TCP_RST},
		},
		{&expr.Reject{Type: unix.NFT_REJECT_ICMP_UNREACH, Code: prohibited}},
	}
}

// nativeQueue is the queue statement of nft. Bypass lets a packet pass that
// nobody waits for.
func nativeQueue(n uint16) expr.Any {
	return &expr.Queue{Num: n, Total: 1, Flag: expr.QueueFlagBypass}
}

// targetQueue is the same by the target that iptables has, for kernels without
// the statement: struct xt_NFQ_info_v3 of linux/netfilter/xt_NFQUEUE.h.
func targetQueue(n uint16) expr.Any {
	const bypass = 1
	info := make(xt.Unknown, 0, 8)
	for _, field := range []uint16{n, 1, bypass, 0} {
		info = binary.NativeEndian.AppendUint16(info, field)
	}
	return &expr.Target{Name: "NFQUEUE", Rev: 3, Info: &info}
}

// lacks tries an action in a table of its own and answers what the kernel
// lacks for it, "" for nothing.
func (t *table) lacks(a Action) string {
	wants := map[Action][]expr.Any{
		Drop:   {verdict(expr.VerdictDrop)},
		Reject: {rejections()[1][0]},
		Lose:   append(chance(50), verdict(expr.VerdictDrop)),
		Queue:  {targetQueue(1)},
	}
	if a == Queue && t.native {
		return ""
	}
	if err := t.try(wants[a]...); err != nil {
		return fmt.Sprintf("nftables of this kernel cannot %s: %v", a, err)
	}
	return ""
}

// try makes a chain with one rule, on no link that is, and removes it.
func (t *table) try(exprs ...expr.Any) error {
	conn, err := nftables.New()
	if err != nil {
		return err
	}
	own := conn.AddTable(&nftables.Table{Name: tableName + "-try", Family: nftables.TableFamilyIPv4})
	chain := conn.AddChain(&nftables.Chain{
		Table: own, Name: "try", Type: nftables.ChainTypeFilter,
		Hooknum: t.hook, Priority: nftables.ChainPriorityFilter,
	})
	never := end(12, broadcast(), nil)
	conn.AddRule(&nftables.Rule{Table: own, Chain: chain, Exprs: append(never, exprs...)})
	conn.DelTable(own)
	return conn.Flush()
}

// broadcast is where no packet comes from.
func broadcast() netip.Addr { return netip.AddrFrom4([4]byte{255, 255, 255, 255}) }
