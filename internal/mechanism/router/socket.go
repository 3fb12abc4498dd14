package router

import (
	"net/netip"
	"slices"
)

// A Socket is one end of an established TCP connection.
type Socket struct {
	Host          string // whose it is
	Local, Remote netip.AddrPort
	Cookie        [2]uint32 // the kernel's, which no other socket has
}

// joined are sockets of both lists, one end of each connection.
func joined(all, more []Socket) []Socket {
	for _, s := range more {
		if !slices.ContainsFunc(all, s.Same) {
			all = append(all, s)
		}
	}
	return all
}

// Same reports whether both are the same connection, seen from either end.
func (s Socket) Same(o Socket) bool {
	return s.Local == o.Local && s.Remote == o.Remote || s.Local == o.Remote && s.Remote == o.Local
}
