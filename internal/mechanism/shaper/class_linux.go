package shaper

import (
	"encoding/binary"
	"fmt"
	"net/netip"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// class is the number of a rule's class, or of its twin for probes.
func class(rule int, probes bool) uint16 {
	n := uint16(2*rule + 1)
	if probes {
		n++
	}
	return n
}

// unlimited is the rate of a class that only has netem: more than two veths
// pass on.
const unlimited = 4_000_000_000

// netemRoom is how many packets netem keeps: more are dropped.
const netemRoom = 1 << 16

// class makes the classes of one rule, what is in them, and what leads there.
func (s *Shaper) class(index, n int, r Rule) error {
	rate := r.RateBytes
	if rate == 0 {
		rate = unlimited
	}
	for _, probes := range []bool{false, true} {
		handle := netlink.MakeHandle(root, class(n, probes))
		attrs := netlink.ClassAttrs{LinkIndex: index, Parent: netlink.MakeHandle(root, 0), Handle: handle}
		htb := netlink.NewHtbClass(attrs, netlink.HtbClassAttrs{Rate: rate * 8, Quantum: 64 << 10})
		if err := s.links.ClassAdd(htb); err != nil {
			return fmt.Errorf("add class of %s: %w", r.Fault, err)
		}
		if r.Netem == (Netem{}) {
			continue
		}
		child := netlink.QdiscAttrs{LinkIndex: index, Parent: handle, Handle: netlink.MakeHandle(root+1+class(n, probes), 0)}
		if err := s.links.QdiscAdd(netlink.NewNetem(child, r.Netem.attrs())); err != nil {
			return fmt.Errorf("add netem of %s: %w", r.Fault, err)
		}
	}
	return s.filters(index, n, r)
}

func (n Netem) attrs() netlink.NetemQdiscAttrs {
	micro := func(d time.Duration) uint32 { return uint32(d / time.Microsecond) }
	return netlink.NetemQdiscAttrs{
		Latency: micro(n.Delay), Jitter: micro(n.Jitter), Limit: netemRoom,
		Loss: float32(n.Loss), CorruptProb: float32(n.Corrupt), ReorderProb: float32(n.Reorder),
	}
}

// Offsets in an IPv4 packet without options.
const (
	sourceAt = 12
	portsAt  = 20
)

// filters lead a rule's sources to its class, probes to its twin. They are asked
// in order of their priority.
func (s *Shaper) filters(index, n int, r Rule) error {
	prio := uint16(100*n + 1)
	add := func(flow uint32, keys ...netlink.TcU32Key) error {
		f := &netlink.U32{
			FilterAttrs: netlink.FilterAttrs{LinkIndex: index, Parent: netlink.MakeHandle(root, 0), Priority: prio, Protocol: unix.ETH_P_IP},
			ClassId:     flow,
			Sel:         &netlink.TcU32Sel{Flags: netlink.TC_U32_TERMINAL, Nkeys: uint8(len(keys)), Keys: keys},
		}
		prio++
		if err := s.links.FilterAdd(f); err != nil {
			return fmt.Errorf("add filter of %s: %w", r.Fault, err)
		}
		return nil
	}
	probe := uint32(s.probePort)
	lead := func(from ...netlink.TcU32Key) error {
		for _, port := range []netlink.TcU32Key{key(probe<<16, 0xffff0000, portsAt), key(probe, 0xffff, portsAt)} {
			if err := add(netlink.MakeHandle(root, class(n, true)), append([]netlink.TcU32Key{port}, from...)...); err != nil {
				return err
			}
		}
		return add(netlink.MakeHandle(root, class(n, false)), append(from, key(0, 0, sourceAt))...)
	}
	for _, a := range r.From {
		if !r.Except {
			if err := lead(address(a)); err != nil {
				return err
			}
			continue
		}
		if err := add(netlink.MakeHandle(root, 0), address(a)); err != nil { // passes as it is
			return err
		}
	}
	if r.Except {
		return lead()
	}
	return nil
}

func address(a netip.Addr) netlink.TcU32Key {
	b := a.As4()
	return key(binary.BigEndian.Uint32(b[:]), 0xffffffff, sourceAt)
}

// key has its value and mask in the order of this machine: the library turns
// them round.
func key(value, mask uint32, at int32) netlink.TcU32Key {
	return netlink.TcU32Key{Val: value, Mask: mask, Off: at}
}
