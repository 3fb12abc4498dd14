// Package shaper puts queueing disciplines on the router's ends of the cables to
// hosts: htb for bandwidth, netem where the kernel has it. It renders its disciplines
// from scratch under a handle of its own. A discipline of somebody else is never
// replaced.
//
// An interface is shaped on the way to its host. Packets are told apart by their
// source. A class has a twin for probes, which pass the same treatment and are
// counted apart.
//
// Segmentation offload stays as it is. htb lets an aggregate of up to 64 KiB pass
// whole and then waits for as long as its bytes take, so the rate is right and no
// burst can be too small for it. netem delays aggregates whole, and drops or doubles
// them whole: faults that need packets as on a wire do not use it.
package shaper

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"
)

// ErrMissing is what an error wraps where the kernel lacks a discipline.
var ErrMissing = errors.ErrUnsupported

// A Rule is what one fault does to the packets that leave by an interface.
type Rule struct {
	Fault     string
	Interface string
	// From are the sources meant; with Except all others are.
	From   []netip.Addr
	Except bool

	RateBytes uint64 // per second, of all of them together; 0: not limited
	Netem     Netem
}

// Netem is what sch_netem does to each packet; zero for nothing. It does not
// duplicate here: newer kernels refuse that where another netem is in the same
// tree, as the twin for probes is.
type Netem struct {
	Delay, Jitter time.Duration // jitter is uniform
	Loss          float64       // percent
	Corrupt       float64       // percent
	Reorder       float64       // percent that overtake, being sent at once; needs a delay
}

// apart refuses rules of two faults about the same packets: only one of them
// would be shown.
func apart(rules []Rule) error {
	for i, r := range rules {
		for _, o := range rules[:i] {
			if r.meets(o) {
				return fmt.Errorf("%s and %s shape the same packets to %s; heal one of them first", o.Fault, r.Fault, r.Interface)
			}
		}
	}
	return nil
}

func (r Rule) meets(o Rule) bool {
	if r.Interface != o.Interface {
		return false
	}
	if r.Except && o.Except {
		return true
	}
	if o.Except {
		r, o = o, r
	}
	return slices.ContainsFunc(o.From, func(a netip.Addr) bool { return slices.Contains(r.From, a) != r.Except })
}

// Stats are what a rule's discipline saw, since it is there.
type Stats struct {
	Interface      string
	RateBytes      uint64 // of the rule
	Packets, Bytes uint64 // that left, without probes
	Dropped        uint64 // by netem's loss, or for want of room
	Overlimits     uint64 // that had to wait for the rate
	Probes         uint64
}
