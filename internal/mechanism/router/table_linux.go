package router

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"time"

	"github.com/google/nftables"
	"github.com/google/nftables/expr"
	"github.com/mdlayher/netlink"
	"golang.org/x/sys/unix"
)

// tableName is our table's. It has an owner: the socket that made it. When that
// closes, however the process ends, the kernel removes the table, and nobody
// else can change it meanwhile.
const tableName = "rmq-mcp"

// ownerFlag is NFT_TABLE_F_OWNER of linux/netfilter/nf_tables.h, since 5.12.
const ownerFlag = 2

// A table is ours in nftables.
type table struct {
	conn     *nftables.Conn
	sock     *netlink.Conn // of conn
	nft      *nftables.Table
	hook     *nftables.ChainHook // at which packets meet the rules
	there    bool
	chains   []*nftables.Chain
	counters map[string]bool // by name
	native   bool            // this kernel has the queue expression of nft
}

// mostAnswers is room for the kernel's answers to one transaction, in bytes. The kernel answers
// each of its messages before any answer is read: the default of 208 KiB is too little for the
// rules of ten faults.
const mostAnswers = 8 << 20

// answerWithin bounds the wait for the kernel's answers, which are lost without enough room.
const answerWithin = 10 * time.Second

func openTable(hook *nftables.ChainHook) (*table, error) {
	t := &table{
		hook:     hook,
		nft:      &nftables.Table{Name: tableName, Family: nftables.TableFamilyIPv4},
		counters: map[string]bool{},
	}
	var err error
	t.conn, err = nftables.New(nftables.AsLasting(), nftables.WithSockOptions(func(sock *netlink.Conn) error {
		t.sock = sock
		return sock.SetReadBuffer(mostAnswers)
	}))
	if err != nil {
		return nil, fmt.Errorf("open nftables: %w", err)
	}
	t.native = t.try(nativeQueue(1)) == nil
	return t, nil
}

func (t *table) close() error { return errors.Join(t.drop(), t.conn.CloseLasting()) }

// make makes the table, ours alone.
func (t *table) make() error {
	if t.there {
		return nil
	}
	attrs, err := netlink.MarshalAttributes([]netlink.Attribute{
		{Type: unix.NFTA_TABLE_NAME, Data: []byte(tableName + "\x00")},
		{Type: unix.NFTA_TABLE_FLAGS, Data: []byte{0, 0, 0, ownerFlag}},
	})
	if err != nil {
		return err
	}
	const subsystem = unix.NFNL_SUBSYS_NFTABLES << 8
	header := func(family, resource byte) []byte { return []byte{family, unix.NFNETLINK_V0, 0, resource} }
	_, err = t.sock.SendMessages([]netlink.Message{
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_BEGIN, Flags: netlink.Request}, Data: header(unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)},
		{
			Header: netlink.Header{Type: subsystem | unix.NFT_MSG_NEWTABLE, Flags: netlink.Request | netlink.Acknowledge | netlink.Create | netlink.Excl},
			Data:   append(header(unix.AF_INET, 0), attrs...),
		},
		{Header: netlink.Header{Type: unix.NFNL_MSG_BATCH_END, Flags: netlink.Request}, Data: header(unix.AF_UNSPEC, unix.NFNL_SUBSYS_NFTABLES)},
	})
	if err == nil {
		_, err = t.sock.Receive()
	}
	if err != nil {
		return fmt.Errorf("make nftables table %s: %w", tableName, err)
	}
	t.there = true
	return nil
}

// drop removes the table and all in it.
func (t *table) drop() error {
	if !t.there {
		return nil
	}
	t.conn.DelTable(t.nft)
	if err := t.flush(); err != nil {
		return fmt.Errorf("remove nftables table %s: %w", tableName, err)
	}
	t.there, t.chains, t.counters = false, nil, map[string]bool{}
	return nil
}

// flush sends the queued transaction.
func (t *table) flush() error {
	if err := t.sock.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		return err
	}
	err := t.conn.Flush()
	if errors.Is(err, unix.ENOBUFS) || errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("%w; too many faults are in place at once for this host: remove some, or raise net.core.rmem_max to %d", err, mostAnswers)
	}
	return errors.Join(err, t.sock.SetDeadline(time.Time{}))
}

// show renders rules from scratch in one transaction. Counters stay as they
// are as long as their fault has a rule.
func (t *table) show(rules []shown) error {
	if len(rules) == 0 {
		return t.drop()
	}
	fresh := !t.there
	if err := t.make(); err != nil {
		return err
	}
	chains, counters := t.render(rules)
	if err := t.flush(); err != nil {
		err = fmt.Errorf("render %d rules in nftables table %s: %w", len(rules), tableName, err)
		if fresh {
			err = errors.Join(err, t.drop())
		}
		return err
	}
	t.chains, t.counters = chains, counters
	return nil
}

// render queues the whole transaction.
func (t *table) render(rules []shown) ([]*nftables.Chain, map[string]bool) {
	if len(t.chains) > 0 {
		t.conn.FlushTable(t.nft)
	}
	for _, c := range t.chains {
		t.conn.DelChain(c)
	}
	p := &ruleWriter{table: t, counters: map[string]bool{}}
	for _, rule := range rules {
		p.count(rule)
	}
	for name := range t.counters {
		if !p.counters[name] {
			t.conn.DeleteObject(t.counter(name))
		}
	}
	p.write(rules)
	return p.chains, p.counters
}

func (t *table) counter(name string) *nftables.NamedObj {
	return &nftables.NamedObj{Table: t.nft, Name: name, Type: nftables.ObjTypeCounter, Obj: &expr.Counter{}}
}

// read answers a counter.
func (t *table) read(name string) (Count, error) {
	obj, err := t.conn.GetObject(t.counter(name))
	if err != nil {
		return Count{}, fmt.Errorf("read nftables counter %s: %w", name, err)
	}
	named, ok := obj.(*nftables.NamedObj)
	if !ok {
		return Count{}, fmt.Errorf("read nftables counter %s: it is %T", name, obj)
	}
	c, ok := named.Obj.(*expr.Counter)
	if !ok {
		return Count{}, fmt.Errorf("read nftables counter %s: it is %T", name, named.Obj)
	}
	return Count{Packets: c.Packets, Bytes: c.Bytes}, nil
}

func (t *table) hits(fault string, servers []netip.Addr) (h Hits, err error) {
	h.Servers = map[netip.Addr]Count{}
	for _, a := range servers {
		if name := serverCounter(fault, a); t.counters[name] {
			if h.Servers[a], err = t.read(name); err != nil {
				return Hits{}, err
			}
		}
	}
	for _, c := range []struct {
		name string
		to   *Count
	}{{matchedCounter(fault), &h.Matched}, {hitCounter(fault), &h.Hit}, {probeCounter(fault), &h.Probes}} {
		if *c.to, err = t.read(c.name); err != nil {
			return Hits{}, err
		}
	}
	return h, nil
}
