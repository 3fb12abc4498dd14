package router

import "net/netip"

// An End is a host's cable and what comes to it there: all that these sources
// send, or with Except all that others send.
type End struct {
	Interface string // the router's end
	From      []netip.Addr
	Except    bool
}
