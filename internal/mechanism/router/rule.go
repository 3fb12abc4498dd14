// Package router is the one place that every packet between two hosts of an
// experiment passes: the keeper's network namespace. It shows rules there, all
// of them in a table of its own, and it measures links with probes of its own.
// Rules of somebody else are never read or touched.
package router

import (
	"net/netip"
	"slices"
	"time"
)

// ProbePort is the port, on both sides, of everything this package sends to
// measure a link, UDP and TCP. It is that of RFC 4656 and 5357, which are about
// measuring links too. Packets of this port meet rules like any others and are
// counted apart from them: what we send to look is not traffic that a fault hit.
const ProbePort = 862

// Clients stands, among the names of hosts, for every host that is neither a
// node nor the witness, those that come later too.
const Clients = "clients"

// An Action is what a rule does to a packet.
type Action string

const (
	Drop   Action = "drop"   // silently
	Reject Action = "reject" // TCP is reset, all else is answered by ICMP "administratively prohibited"
	Lose   Action = "lose"   // drop Percent of them, each by a chance of its own
	Pass   Action = "pass"   // let it pass, counted
	Queue  Action = "queue"  // hand it to the NFQUEUE of that number; where nobody listens to it the packet passes
)

// A Rule is what one fault does to the packets on some links.
type Rule struct {
	Fault   string   `json:"-"` // whose it is, f1; hits are counted by it
	Do      Action   `json:"-"`
	Links   []Link   `json:"links"`
	Ports   []uint16 `json:"ports,omitempty"`   // only TCP and UDP from or to these; none: everything
	Percent float64  `json:"percent,omitempty"` // of Lose
	Queue   uint16   `json:"queue,omitempty"`   // of Queue, from [Router.Queue]
}

// A Link is one direction: what any of From sends to any of To. Both are names
// of hosts, or Clients. A host's way to itself is none.
type Link struct {
	From []string `json:"from"`
	To   []string `json:"to"`
}

// A Count is packets as the router forwards them, and their bytes with IP
// headers. Where segments are offloaded, as between two veths, one such packet
// is up to 64 KiB of a TCP stream.
type Count struct{ Packets, Bytes uint64 }

// Hits are what a fault's rules met.
type Hits struct {
	Matched Count                // on its links, without probes
	Hit     Count                // of those, dropped, rejected, queued or let pass
	Probes  Count                // probes hit
	Servers map[netip.Addr]Count // of Hit, by the node or the witness at either end
}

// A Ping asks for probes from one host to another, which sends them back.
type Ping struct {
	From, To string        // names of hosts
	Count    int           // 0: 5
	Interval time.Duration // between two; 0: 1 ms
	Wait     time.Duration // after the last one was sent, for those that are missing; 0: 500 ms
	Linger   time.Duration // after the last one came back, for duplicates; 0: not at all
	Size     int           // bytes of payload; 0: 64, which is also the least
}

// Pings are what became of them. Where all arrived and came back unharmed,
// Sent, Arrived and Received are equal, and the rest is 0.
type Pings struct {
	Sent       int
	Arrived    int             // different ones that reached the other host
	Received   int             // different ones that came back
	Duplicated int             // arrived more than once, on either way
	Reordered  int             // arrived after a later one, on the way there
	Corrupted  int             // arrived with other bytes than were sent, on either way
	RTT        []time.Duration // of those that came back
	There      []time.Duration // one way, of those that arrived; all clocks are the same one
	Back       []time.Duration // one way, of those that came back
	Span       time.Duration   // from when the first was sent until the last arrived; 0: none did
	Error      string          // why one could not be sent, as for no route; "" for none
}

// disturbed reports whether a rule of any other fault is about what one host sends to another. Among
// says whether a list of names has a host.
func disturbed(rules []Rule, from, to, fault string, among func(names []string, host string) bool) bool {
	return slices.ContainsFunc(rules, func(rule Rule) bool {
		return rule.Fault != fault && rule.Do != Pass && slices.ContainsFunc(rule.Links, func(l Link) bool {
			return among(l.From, from) && among(l.To, to)
		})
	})
}
