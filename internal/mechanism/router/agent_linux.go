package router

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/google/nftables"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
)

// An agent is one host of a [Remote], in the network namespace of this process. Its rules are about
// packets that arrive.
type agent struct {
	udp    *net.UDPConn
	tcp    net.Listener
	queues *netqueue.Set
	broken error // why there is no table

	mu       sync.Mutex
	table    *table
	servers  []netip.Addr
	sessions map[uint64]*session // of the bursts that it sends
	seen     map[uint64]*Sighting
	recent   []uint64 // bursts in seen, the oldest first
}

func openAgent(own netip.Addr) (*agent, error) {
	at := netip.AddrPortFrom(own, ProbePort)
	a := &agent{queues: netqueue.NewSet(ProbePort), sessions: map[uint64]*session{}, seen: map[uint64]*Sighting{}}
	var err error
	if a.udp, err = net.ListenUDP("udp4", net.UDPAddrFromAddrPort(at)); err != nil {
		return nil, fmt.Errorf("open the probe port: %w", err)
	}
	a.udp.SetReadBuffer(probeBuffer)
	l := net.ListenConfig{Control: reuse}
	if a.tcp, err = l.Listen(context.Background(), "tcp4", at.String()); err != nil {
		a.udp.Close()
		return nil, fmt.Errorf("open the probe port: %w", err)
	}
	a.table, a.broken = openTable(nftables.ChainHookInput)
	go accept(a.tcp)
	go a.listen()
	return a, nil
}

func (a *agent) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.udp.Close()
	a.tcp.Close()
	if a.table != nil {
		a.table.close()
	}
	a.queues.Close()
}

// Missing says what the kernel of the host lacks for an action.
func (a *agent) Missing(do Action, lacks *string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		*lacks = a.broken.Error()
		return nil
	}
	*lacks = a.table.lacks(do)
	return nil
}

// Show shows exactly these rules, and treats exactly these queues.
func (a *agent) Show(p Part, _ *struct{}) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil {
		return a.broken
	}
	k, leads := known{all: p.Hosts}, map[netip.Addr]netip.Addr{}
	for node, lead := range p.Leads {
		if at, ok := p.Hosts[node]; ok && at != lead {
			leads[at] = lead
			k.servers = append(k.servers, at, lead)
		} else if ok {
			k.servers = append(k.servers, at)
		}
	}
	all, err := resolve(p.Rules, k)
	if err != nil {
		return err
	}
	var own []shown
	for _, s := range all {
		s.ways = slices.DeleteFunc(s.ways, func(w way) bool { return w.to != p.Own })
		for _, w := range s.ways {
			if lead, ok := leads[w.from]; ok {
				s.ways = append(s.ways, way{lead, w.to})
			}
		}
		if len(s.ways) > 0 {
			own = append(own, s)
		}
	}
	a.servers = k.servers
	for n, how := range p.Queues { // before there are rules that queue
		if err := a.queues.Treat(n, how); err != nil {
			return err
		}
	}
	err = a.table.show(own)
	for _, n := range a.queues.Numbers() {
		if _, ok := p.Queues[n]; !ok {
			err = errors.Join(err, a.queues.Release(n))
		}
	}
	return err
}

// Counts are what a queue of this host met.
func (a *agent) Counts(queue uint16, c *netqueue.Counts) (err error) {
	*c, err = a.queues.Counts(queue)
	return err
}

// ChecksumErrors counts what this host threw away because of wrong checksums.
func (a *agent) ChecksumErrors(_ struct{}, n *uint64) (err error) {
	*n, err = checksumErrors()
	return err
}

// Hits are what the rules of a fault met at this host.
func (a *agent) Hits(fault string, h *Hits) (err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken != nil || !a.table.counters[hitCounter(fault)] {
		return nil
	}
	*h, err = a.table.hits(fault, a.servers)
	return err
}

// Sockets are the ends of established TCP connections at this host.
func (a *agent) Sockets(asked Asked, all *[]Socket) error {
	list, err := established(asked.Host)
	*all = slices.DeleteFunc(list, func(s Socket) bool { return !slices.Contains(asked.With, s.Remote.Addr()) })
	return err
}

// Reset ends connections of this host.
func (a *agent) Reset(sockets []Socket, ended *[]Socket) (err error) {
	*ended, err = destroyed(sockets)
	return err
}

// Send sends the probes of a burst and waits for the answers. The agent at the other end knows how
// many arrived.
func (a *agent) Send(b Burst, sending *Sending) error {
	s := b.session()
	a.mu.Lock()
	a.sessions[b.Session] = s
	a.mu.Unlock()
	*sending = s.over(context.Background(), a.udp, b)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.sessions, b.Session)
	return nil
}

// Seen are the probes of a burst that arrived at this host.
func (a *agent) Seen(session uint64, s *Sighting) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if seen := a.seen[session]; seen != nil {
		*s = *seen
		s.Seen, s.At = slices.Clone(seen.Seen), slices.Clone(seen.At)
	}
	return nil
}

// Dial connects to a TCP port, and says how long that took.
func (a *agent) Dial(to netip.AddrPort, took *time.Duration) error {
	began := time.Now()
	conn, err := net.DialTimeout("tcp4", to.String(), dialBound)
	if err != nil {
		return err
	}
	*took = time.Since(began)
	conn.(*net.TCPConn).SetLinger(0)
	return conn.Close()
}

// listen sends probes back, and notes those that came back.
func (a *agent) listen() {
	b := make([]byte, 1<<16)
	for {
		n, from, err := a.udp.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err == nil {
			a.got(b[:n], from)
		}
	}
}

func (a *agent) got(b []byte, from netip.AddrPort) {
	now := monotonic()
	a.mu.Lock()
	defer a.mu.Unlock()
	d, whole := parse(b)
	switch {
	case !whole:
		a.harmed(from)
	case d.back:
		if s := a.sessions[d.session]; s != nil {
			s.returned(int(d.seq), now)
		}
	default:
		a.note(d, from, now)
		turn(b)
		a.udp.WriteToUDPAddrPort(b, from) // that it is not sent shows as its absence
	}
}

// harmed notes a probe with other bytes than were sent. It may be of any burst with its sender: the
// bytes do not tell.
func (a *agent) harmed(from netip.AddrPort) {
	for _, s := range a.sessions {
		if s.to == from.Addr() {
			s.harmed()
			return
		}
	}
	for _, id := range slices.Backward(a.recent) {
		if s := a.seen[id]; s.From == from {
			s.Corrupted++
			return
		}
	}
}

// note notes a probe that arrived.
func (a *agent) note(d datagram, from netip.AddrPort, now time.Duration) {
	s := a.seen[d.session]
	if s == nil {
		s = &Sighting{From: from}
		a.seen[d.session] = s
		if a.recent = append(a.recent, d.session); len(a.recent) > recentSessions {
			delete(a.seen, a.recent[0])
			a.recent = a.recent[1:]
		}
	}
	if slices.Contains(s.Seen, int(d.seq)) {
		s.Duplicated++
	} else {
		s.Seen, s.At = append(s.Seen, int(d.seq)), append(s.At, now)
	}
}
