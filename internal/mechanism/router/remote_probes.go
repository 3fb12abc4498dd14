package router

import (
	"context"
	"fmt"
	"net/netip"
	"time"
)

// Address is that of a node, as other nodes see it.
func (r *Remote) Address(host string) (netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.agent(context.Background(), host)
	if err != nil {
		return netip.Addr{}, err
	}
	return a.own, nil
}

// Client is a host of clients.
func (r *Remote) Client() (string, error) {
	if r.opt.Others() {
		return "", fmt.Errorf("rules for clients: %w: clients run on this machine too, and no rule reaches them; end their workload, or set with to nodes", ErrRemote)
	}
	if all := r.opt.Clients(); len(all) > 0 {
		return all[0], nil
	}
	return "", fmt.Errorf("rules for clients: %w: no client runs in a pod; start a workload of an SDK that is part of rmq-mcp, without arm: tap, or set with to nodes", ErrRemote)
}

// Ping sends probes from one node to another, or from the witness to a node, and waits for them,
// for a bounded time.
func (r *Remote) Ping(ctx context.Context, ping Ping) (Pings, error) {
	pings, err := r.ping(ctx, ping)
	if err != nil {
		err = fmt.Errorf("ping %s from %s: %w", ping.To, ping.From, err)
	}
	return pings, err
}

func (r *Remote) ping(ctx context.Context, ping Ping) (pings Pings, err error) {
	r.mu.Lock()
	r.burst++
	b := Burst{Session: r.burst, Ping: ping}
	to, err := r.agent(ctx, ping.To)
	var from *attached
	if err == nil && ping.From != r.opt.Witness {
		from, err = r.agent(ctx, ping.From)
	}
	r.mu.Unlock()
	if err != nil {
		return pings, err
	}
	var sending Sending
	if from == nil {
		if b.To, err = r.opt.Reach(ping.To); err == nil {
			sending, err = probeFromHere(ctx, b)
		}
	} else {
		b.To = netip.AddrPortFrom(to.own, ProbePort)
		sending, err = ask[Sending](ctx, r, from, "Send", b)
	}
	var seen Sighting
	if err == nil {
		seen, err = ask[Sighting](ctx, r, to, "Seen", b.Session)
	}
	if err != nil {
		return pings, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	link := [2]string{ping.From, ping.To}
	known := r.clocks[link]
	if !known.Known() {
		known = r.clocks[[2]string{ping.To, ping.From}].Reversed()
	}
	r.clocks[link] = observed(known, sending, seen)
	return joinedBy(r.clocks[link], sending, seen), nil
}

// Dial connects from one node to a TCP port of another, 0 for its probe port.
func (r *Remote) Dial(ctx context.Context, from, to string, port int) (time.Duration, error) {
	if port == 0 {
		port = ProbePort
	}
	r.mu.Lock()
	b, err := r.agent(ctx, to)
	var a *attached
	if err == nil {
		a, err = r.agent(ctx, from)
	}
	r.mu.Unlock()
	var took time.Duration
	if err == nil {
		took, err = ask[time.Duration](ctx, r, a, "Dial", netip.AddrPortFrom(b.own, uint16(port)))
	}
	if err != nil {
		return 0, fmt.Errorf("connect from %s to %s: %w", from, to, err)
	}
	return took, nil
}

// ChecksumErrors counts what a node threw away because of wrong checksums.
func (r *Remote) ChecksumErrors(host string) (n uint64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a, err := r.agent(context.Background(), host)
	if err == nil {
		n, err = ask[uint64](context.Background(), r, a, "ChecksumErrors", struct{}{})
	}
	if err != nil {
		return 0, fmt.Errorf("wrong checksums at %s: %w", host, err)
	}
	return n, nil
}
