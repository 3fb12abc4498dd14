package router

import "net/netip"

// A Socket is one end of an established TCP connection.
type Socket struct {
	Host          string // whose it is
	Local, Remote netip.AddrPort
	cookie        [2]uint32 // the kernel's, which no other socket has
}

// Same reports whether both are the same connection, seen from either end.
func (s Socket) Same(o Socket) bool {
	return s.Local == o.Local && s.Remote == o.Remote || s.Local == o.Remote && s.Remote == o.Local
}
