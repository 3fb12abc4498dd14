package tap

import (
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"time"
)

// An Action is what a rule does.
type Action string

// Actions on packets. With every action, the packets behind keep their order: a TCP
// connection does not reorder.
const (
	Drop      Action = "drop"      // it is not forwarded. Its connection is closed when the rule goes: MQTT repeats nothing before that
	Delay     Action = "delay"     // it, and what is behind it, arrives DelayMS later; at once when the rule goes
	Duplicate Action = "duplicate" // a PUBLISH of QoS 1, to the broker also of QoS 2, is forwarded twice, the second with DUP; its sender sees one answer
	CutAfter  Action = "cut_after" // it is forwarded, then the connection is closed
	Truncate  Action = "truncate"  // its first half is forwarded, then the connection is closed
	Mutate    Action = "mutate"    // it is forwarded as Change says
)

// Actions on connections.
const (
	Refuse   Action = "refuse"    // they are closed at once, and no new one is let through
	Close    Action = "close"     // they are closed at once and every PeriodMS after, and may come back
	HalfOpen Action = "half_open" // the client's end is gone, the broker's stays open and silent; no new one is let through
	Slow     Action = "slow"      // what the broker sends is read at BytesPerS
)

// ofPackets reports whether the action is done to packets.
func (a Action) ofPackets() bool {
	return slices.Contains([]Action{Drop, Delay, Duplicate, CutAfter, Truncate, Mutate}, a)
}

// A Direction is the way that packets go.
type Direction string

// The directions; "" is both.
const (
	ToBroker Direction = "to_broker"
	ToClient Direction = "to_client"
)

func (d Direction) back() Direction {
	if d == ToBroker {
		return ToClient
	}
	return ToBroker
}

// A Change is what mutate does. Each makes a packet that the specification
// tells its receiver to refuse, so that nothing valid is falsified, and leaves
// the payload alone. The answer to a falsified PUBLISH is withheld: its sender
// never believes that it was accepted.
type Change string

// The changes, with the section of MQTT 3.1.1 that has the receiver close the
// connection.
const (
	ReservedFlags   Change = "reserved_flags"   // the header's reserved bits, inverted (2.2.2)
	QoS3            Change = "qos"              // of a PUBLISH: both bits set, QoS 3 (3.3.1-4)
	PacketIDZero    Change = "packet_id"        // the packet id is 0 (2.3.1-1)
	Wildcard        Change = "topic"            // of a PUBLISH: the topic begins with # (3.3.2-2)
	TypeZero        Change = "packet_type"      // type 0, which is forbidden (2.2.1)
	RemainingLength Change = "remaining_length" // five bytes where four are the most (2.2.3); nothing follows it
)

// Changes are the names of all changes.
func Changes() []string {
	return []string{string(ReservedFlags), string(QoS3), string(PacketIDZero), string(Wildcard), string(TypeZero), string(RemainingLength)}
}

// fits reports whether a change can be made to a packet.
func (c Change) fits(p packet) bool {
	switch c {
	case QoS3:
		return p.kind == Publish && p.id != 0
	case Wildcard:
		return p.kind == Publish && len(p.topic) > 0
	case PacketIDZero:
		return p.id != 0
	case ReservedFlags:
		return p.kind != Publish
	}
	return true
}

// A Rule is one fault's part in the tap: what it acts on, and what it does. A
// zero field chooses everything.
type Rule struct {
	Fault   string   `json:"-"` // one rule for each
	Do      Action   `json:"-"`
	Nodes   []string `json:"nodes,omitempty"`   // names of nodes
	Clients []string `json:"clients,omitempty"` // patterns of client ids: *, ?, [a-z]

	// For actions on packets.
	Packet    Type      `json:"packet,omitempty"`
	Direction Direction `json:"direction,omitempty"`
	Topic     string    `json:"topic,omitempty"`   // filter; packets other than PUBLISH have no topic
	Nth       int       `json:"nth,omitempty"`     // every n-th of them
	Percent   float64   `json:"percent,omitempty"` // or as many of a hundred, chosen by the seed
	Seed      int64     `json:"seed,omitempty"`
	DelayMS   float64   `json:"delay_ms,omitempty"`
	Change    Change    `json:"change,omitempty"`

	// For actions on connections.
	PeriodMS  float64 `json:"period_ms,omitempty"`
	BytesPerS float64 `json:"bytes_per_s,omitempty"`
}

// Check says what is wrong with a rule.
func (r Rule) Check() error {
	var errs []error
	for _, pattern := range r.Clients {
		if _, err := path.Match(pattern, ""); err != nil {
			errs = append(errs, fmt.Errorf("client %q: %w; valid are *, ? and [a-z]", pattern, err))
		}
	}
	if err := checkFilter(r.Topic); err != nil {
		errs = append(errs, err)
	}
	if r.Topic != "" && r.Packet != Publish {
		errs = append(errs, fmt.Errorf("topic %q: only publish has a topic, not %s", r.Topic, r.Packet))
	}
	if r.Nth > 1 && r.Percent > 0 && r.Percent < 100 {
		errs = append(errs, fmt.Errorf("nth %d and percent %g: give one of them", r.Nth, r.Percent))
	}
	if r.Do == Duplicate && r.Packet != Publish {
		errs = append(errs, fmt.Errorf("packet %s: only publish may be sent twice", r.Packet))
	}
	if r.Do == Mutate && r.Packet != Any && !r.Change.fits(packet{kind: r.Packet, id: idOf(r.Packet), topic: []byte("t")}) {
		errs = append(errs, fmt.Errorf("what %s: no %s has that", r.Change, r.Packet))
	}
	if way, only := r.Packet.onlyGoes(); only && r.Direction == way.back() {
		errs = append(errs, fmt.Errorf("direction %s: %s only goes %s", r.Direction, r.Packet, way))
	}
	return errors.Join(errs...)
}

func idOf(t Type) uint16 {
	if t == Publish || t.hasID() {
		return 1
	}
	return 0
}

// onlyGoes is the direction of a type that has but one.
func (t Type) onlyGoes() (Direction, bool) {
	switch t {
	case Connect, Subscribe, Unsubscribe, Pingreq:
		return ToBroker, true
	case Connack, Suback, Unsuback, Pingresp:
		return ToClient, true
	}
	return "", false
}

func checkFilter(filter string) error {
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		if level == "#" && i != len(levels)-1 || len(level) > 1 && strings.ContainsAny(level, "+#") {
			return fmt.Errorf("topic %q is no topic filter: + stands for a whole level, # for all that follow", filter)
		}
	}
	return nil
}

// covers reports whether the rule is about a connection.
func (r *Rule) covers(node, client string) bool {
	if len(r.Nodes) > 0 && !slices.Contains(r.Nodes, node) {
		return false
	}
	return len(r.Clients) == 0 || slices.ContainsFunc(r.Clients, func(pattern string) bool {
		ok, _ := path.Match(pattern, client)
		return ok
	})
}

// chooses reports whether the rule is about packets of this kind, whatever its
// count.
func (r *Rule) chooses(way Direction, p packet) bool {
	switch {
	case r.Packet != Any && r.Packet != p.kind,
		r.Direction != "" && r.Direction != way,
		r.Do == Duplicate && !repeatable(way, p),
		r.Do == Mutate && !r.Change.fits(p):
		return false
	}
	return r.Topic == "" || topicMatches(r.Topic, string(p.topic))
}

// repeatable reports whether a packet may be sent twice. To clients only QoS 1:
// SDKs hand on a second QoS 2 message that comes before they answered the
// first, and that would look like the broker's doing.
func repeatable(way Direction, p packet) bool {
	most := byte(2)
	if way == ToClient {
		most = 1
	}
	return p.kind == Publish && p.qos() >= 1 && p.qos() <= most && p.size <= maxCopy
}

// strikes reports whether the n-th of the chosen packets, from 1, is hit.
func (r *Rule) strikes(n int64) bool {
	if r.Nth > 1 {
		return n%int64(r.Nth) == 0
	}
	if r.Percent <= 0 || r.Percent >= 100 {
		return true
	}
	return float64(mix(uint64(r.Seed)^mix(uint64(n)))>>11)/(1<<53) < r.Percent/100
}

// mix is the finalizer of splitmix64: a number that looks random, the same for
// the same input.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (r *Rule) delay() time.Duration  { return millis(r.DelayMS) }
func (r *Rule) period() time.Duration { return millis(r.PeriodMS) }

func millis(ms float64) time.Duration {
	return time.Duration(math.Round(ms * float64(time.Millisecond)))
}

// topicMatches is MQTT's own matching (4.7), but that a wildcard also matches
// a topic that begins with $.
func topicMatches(filter, topic string) bool {
	for {
		level, rest, more := strings.Cut(filter, "/")
		if level == "#" {
			return true
		}
		part, remain, deeper := strings.Cut(topic, "/")
		if level != "+" && level != part {
			return false
		}
		if !more || !deeper {
			return more == deeper || rest == "#" && !deeper
		}
		filter, topic = rest, remain
	}
}
