package router

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
)

// Sockets are the ends of established TCP connections at the From of any link whose other end is at
// its To. A peer is known by its own address, or by the one that leads to it.
func (r *Remote) Sockets(links []Link) (all []Socket, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	links = r.namedLinks(links)
	leads, err := r.leads()
	if err != nil {
		return nil, err
	}
	for _, node := range r.hosts() {
		asked := Asked{Host: node}
		for _, l := range links {
			if !slices.Contains(l.From, node) {
				continue
			}
			for _, peer := range l.To {
				p, err := r.agent(context.Background(), peer)
				if err != nil {
					return nil, err
				}
				asked.With = append(asked.With, p.own)
				if lead, ok := leads[peer]; ok {
					asked.With = append(asked.With, lead)
				}
			}
		}
		if len(asked.With) == 0 {
			continue
		}
		a, err := r.agent(context.Background(), node)
		if err != nil {
			return nil, err
		}
		ends, err := ask[[]Socket](context.Background(), r, a, "Sockets", asked)
		if err != nil {
			return nil, fmt.Errorf("list the connections of %s: %w", node, err)
		}
		all = append(all, ends...)
	}
	return all, nil
}

// Reset ends connections at these ends of them, and returns one end of each that it ended, with the
// nodes' own addresses.
func (r *Remote) Reset(sockets []Socket) (done []Socket, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	own := map[netip.Addr]netip.Addr{}
	if err := r.fold(func(lead, at netip.Addr) { own[lead] = at }); err != nil {
		return nil, err
	}
	for _, node := range r.hosts() {
		mine := slices.DeleteFunc(slices.Clone(sockets), func(s Socket) bool { return s.Host != node })
		if len(mine) == 0 {
			continue
		}
		a, err := r.agent(context.Background(), node)
		if err != nil {
			return done, err
		}
		ended, err := ask[[]Socket](context.Background(), r, a, "Reset", mine)
		for i, s := range ended {
			if a, ok := own[s.Remote.Addr()]; ok {
				ended[i].Remote = netip.AddrPortFrom(a, s.Remote.Port())
			}
		}
		done = joined(done, ended)
		if err != nil {
			return done, fmt.Errorf("reset connections of %s: %w", node, err)
		}
	}
	return done, nil
}
