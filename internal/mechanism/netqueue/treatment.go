// Package netqueue treats packets one by one: the kernel hands those that a rule
// of the router queues to a program, which delays, drops, changes or doubles
// them. It needs no kernel module beyond NFQUEUE, and a program that is gone
// lets everything pass.
//
// A packet is one as on a wire wherever it matters whether it is hit: the kernel
// cuts what segmentation offload has put together (up to 64 KiB of a TCP stream
// between two veths) into segments before it queues them. Only what delays every
// packet keeps them whole, which is several times faster: all of it is delayed
// by the same.
package netqueue

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ErrMissing is what an error wraps where this system has no NFQUEUE.
var ErrMissing = errors.ErrUnsupported

// An Action is what becomes of the packets that are hit. The others pass.
type Action string

const (
	Delay     Action = "delay"     // held for as long as Delay says
	Drop      Action = "drop"      // never seen again
	Corrupt   Action = "corrupt"   // one bit of one byte of the payload of TCP or UDP is another
	Duplicate Action = "duplicate" // seen twice
)

// A Distribution is how delays differ from packet to packet.
type Distribution string

const (
	Uniform Distribution = "uniform" // anything from Delay-Jitter to Delay+Jitter, all as likely
	Normal  Distribution = "normal"  // Jitter is the standard deviation
	Pareto  Distribution = "pareto"  // a long tail; Jitter is the standard deviation
)

// Distributions are all there are.
func Distributions() []string {
	return []string{string(Uniform), string(Normal), string(Pareto)}
}

// A Treatment is what one fault does to the packets of its queue. Percent, or Burst
// if it is set, and Seed decide which of them it hits. The same seed decides the same
// for the n-th packet.
type Treatment struct {
	Do      Action  `json:"-"`
	Percent float64 `json:"percent,omitempty"` // of packets hit, above 0, up to 100
	// Burst is the mean number of packets in a row that are in a bad state, in
	// which BadPercent of them are hit (0: all), by the model of Gilbert and
	// Elliott. Percent stays the mean over all packets. 0: no bursts, each packet
	// by a chance of its own.
	Burst      float64 `json:"burst_packets,omitempty"`
	BadPercent float64 `json:"bad_percent,omitempty"`

	Delay        time.Duration `json:"delay_ns,omitempty"`
	Jitter       time.Duration `json:"jitter_ns,omitempty"`
	Distribution Distribution  `json:"distribution,omitempty"`

	Silent bool   `json:"silent,omitempty"` // a corrupted packet's checksum is mended
	Seed   uint64 `json:"seed,omitempty"`
}

// Check says what is wrong with a treatment.
func (t Treatment) Check() error {
	switch {
	case !slices.Contains([]Action{Delay, Drop, Corrupt, Duplicate}, t.Do):
		return fmt.Errorf("no action %q; valid: delay, drop, corrupt, duplicate", t.Do)
	case !(t.Percent > 0 && t.Percent <= 100):
		return fmt.Errorf("%g percent of packets; valid: above 0, up to 100", t.Percent)
	case t.Do == Delay && t.Delay <= 0:
		return fmt.Errorf("a delay of %v; valid: above 0", t.Delay)
	case t.Jitter < 0 || t.Distribution != Normal && t.Distribution != Pareto && t.Jitter > t.Delay:
		return fmt.Errorf("a jitter of %v; valid: from 0 to the delay, %v", t.Jitter, t.Delay)
	case t.Jitter > 0 && !slices.Contains(Distributions(), string(t.Distribution)):
		return fmt.Errorf("no distribution %q; valid: %s", t.Distribution, strings.Join(Distributions(), ", "))
	}
	return t.checkBurst()
}

func (t Treatment) checkBurst() error {
	if t.Burst == 0 {
		return nil
	}
	if t.Burst < 1 {
		return fmt.Errorf("bursts of %g packets; valid: 1 and more, or 0 for none", t.Burst)
	}
	bad := t.bad()
	if !(bad > t.Percent/100 && bad <= 1) {
		return fmt.Errorf("%g percent hit in bad states; valid: more than the %g percent of all packets, up to 100", t.BadPercent, t.Percent)
	}
	if enter, _ := t.transitions(); enter > 1 {
		return fmt.Errorf("%g percent of packets in bursts of %g: the pauses between them would be shorter than one packet; ask for longer bursts or fewer percent", t.Percent, t.Burst)
	}
	return nil
}

// bad is the share that is hit in a bad state.
func (t Treatment) bad() float64 {
	if t.BadPercent == 0 {
		return 1
	}
	return t.BadPercent / 100
}

// transitions are the chances, with each packet, that a bad state begins and
// that it ends: of all packets Percent/bad are in one.
func (t Treatment) transitions() (enter, leave float64) {
	share := t.Percent / 100 / t.bad()
	leave = 1 / t.Burst
	return leave * share / (1 - share), leave
}

// whole reports whether offloaded aggregates stay together.
func (t Treatment) whole() bool { return t.Do == Delay && t.Percent >= 100 }

// inOrder reports whether packets leave as they came.
func (t Treatment) inOrder() bool { return t.whole() && t.Jitter == 0 }

// Counts are what a queue met. The packets of the system itself are counted
// apart from probes, which are known by their port.
type Counts struct {
	Treated bool                  // the queue is open
	Matched uint64                // the system's packets in the queue
	Hit     uint64                // of those, delayed, dropped, corrupted or duplicated
	Ends    map[netip.Addr]uint64 // of those, by the address at either end
	Probes  uint64                // probes in the queue
	Held    int                   // packets held at the moment
	// Overflown packets were dropped by the kernel because too many were held or
	// not read in time: no treatment, but the end of what this engine can do.
	Overflown uint64
}
