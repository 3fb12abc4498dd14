package router

import "net/netip"

// An End is a host's cable and the packets that arrive there: all from these sources,
// or with Except all from other sources.
type End struct {
	Interface string // the router's end
	From      []netip.Addr
	Except    bool
}
