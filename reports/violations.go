package reports

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// maxExamples is how many violations of one kind at one client the report shows
// in full; verdict.json has more of them, and the history all.
const maxExamples = 3

// Violations are those of one kind that one claim found at one client.
type Violations struct {
	Claim    string        `json:"claim"`
	Kind     string        `json:"kind"`
	Client   string        `json:"client,omitempty"` // "": of no client
	Group    string        `json:"group,omitempty"`  // of the client: online, offline
	SDK      string        `json:"sdk,omitempty"`    // of the client: go/paho.mqtt.golang@1.5.1
	Blame    verdict.Party `json:"blame,omitempty"`
	Count    int64         `json:"count"`
	FromNS   int64         `json:"from_ns"`
	ToNS     int64         `json:"to_ns"`
	Why      string        `json:"why,omitempty"` // they fail no claim, so that nobody is to blame
	When     string        `json:"when"`          // relative to the faults
	Examples []Example     `json:"examples"`
}

// An Example is one violation, with what was recorded of its message.
type Example struct {
	AtNS     int64   `json:"at_ns"`
	Topic    string  `json:"topic,omitempty"`
	Seq      *int64  `json:"seq,omitempty"`
	QoS      *uint8  `json:"qos,omitempty"`  // that it came with
	Node     string  `json:"node,omitempty"` // that it came from
	PacketID *int64  `json:"packet_id,omitempty"`
	Dup      bool    `json:"dup,omitempty"`
	Text     string  `json:"text"`
	Events   []int64 `json:"events"` // rows of the history
}

// violations are those of all claims, in the order of the claims.
func violations(v verdict.Verdict, seen rows, tables *history.Tables, landings []history.Landing) []Violations {
	out, faults := []Violations{}, history.Windows(landings)
	for _, r := range v.Results {
		for _, g := range r.Violations {
			one := Violations{
				Claim: r.Claim.Name, Kind: g.Kind, Blame: g.Blame, Count: g.Count, FromNS: g.FromNS, ToNS: g.ToNS,
				When: whenOf(time.Duration(g.FromNS), time.Duration(g.ToNS), faults), Examples: []Example{},
			}
			if r.Status != verdict.Fail {
				one.Blame, one.Why = "", fmt.Sprintf("%s: %s", r.Status, strings.Join(r.Reasons, "; "))
			}
			if g.Process >= 0 && int(g.Process) < len(tables.Processes) {
				p := tables.Processes[g.Process]
				one.Client, one.Group, one.SDK = p.Name, p.Group, p.SDK
			}
			for _, a := range examples(r, g) {
				one.Examples = append(one.Examples, seen.example(a, tables))
			}
			out = append(out, one)
		}
	}
	return out
}

// A part is the violations of failed claims, or those of the others.
type part struct {
	Held    bool // a claim failed by them
	Listed  []Violations
	More    int // that there is no room for
	Unshown int // of those listed: without an example
}

// parted are the violations as the report lists them.
func (r *Report) parted() (parts []part) {
	for _, held := range []bool{true, false} {
		all := slices.DeleteFunc(slices.Clone(r.Violations), func(v Violations) bool { return held != (v.Why == "") })
		if len(all) > 0 {
			n := min(len(all), maxListedViolations)
			one := part{Held: held, Listed: all[:n], More: len(all) - n}
			for _, v := range one.Listed {
				if len(v.Examples) == 0 {
					one.Unshown++
				}
			}
			parts = append(parts, one)
		}
	}
	return parts
}

// examples are the first violations of a group that the result lists.
func examples(r verdict.Result, g verdict.Violations) (list []verdict.Anomaly) {
	for _, a := range r.Anomalies {
		if a.Kind == g.Kind && a.Process == g.Process && a.Blame == g.Blame && len(list) < maxExamples {
			list = append(list, a)
		}
	}
	return list
}

// rows are those of the history that the examples point at, by index.
type rows map[int64]history.Event

// rowsOf has a place for each of them.
func rowsOf(v verdict.Verdict) rows {
	out := rows{}
	for _, r := range v.Results {
		for _, g := range r.Violations {
			for _, a := range examples(r, g) {
				for _, i := range a.Events {
					out[i] = history.Event{}
				}
			}
		}
	}
	return out
}

// Add keeps what there is a place for.
func (r rows) Add(b *history.Batch) {
	if len(r) == 0 {
		return
	}
	for i := range b.N {
		if _, wanted := r[b.Index[i]]; wanted {
			r[b.Index[i]] = b.Event(i)
		}
	}
}

// example says of a violation what the last rows about its message say: how it
// was delivered, else how it was published.
func (r rows) example(a verdict.Anomaly, tables *history.Tables) Example {
	e := Example{AtNS: a.TimeNS, Text: a.Text, Events: notNil(a.Events)}
	if a.Stream >= 0 && int(a.Stream) < len(tables.Streams) {
		e.Topic = tables.Streams[a.Stream].Topic
	}
	if a.Seq >= 0 {
		e.Seq = &a.Seq
	}
	var about []history.Event
	for _, i := range a.Events {
		row := r[i]
		of := row.Kind == history.KindPublish || row.Kind == history.KindDeliver || row.Kind == history.KindPacket
		if of && row.Process >= 0 && int(row.Process) < len(tables.Processes) {
			about = append(about, row)
		}
	}
	if delivered := slices.DeleteFunc(slices.Clone(about), func(row history.Event) bool { return !reaches(row) }); len(delivered) > 0 {
		about = delivered
	}
	for _, row := range about {
		if row.Node >= 0 && int(row.Node) < len(tables.Nodes) {
			e.Node = tables.Nodes[row.Node].Name
		}
		if row.ID >= 0 && tables.Processes[row.Process].Protocol != contract.MQ9 { // whose ids are of another kind
			e.PacketID = &row.ID
		}
		if reaches(row) && row.QoS <= 2 {
			e.QoS, e.Dup = &row.QoS, row.Flags.Has(history.FlagDup)
		}
	}
	return e
}

// reaches reports whether a row is a message on its way to a client.
func reaches(row history.Event) bool {
	return row.Kind == history.KindDeliver || row.Kind == history.KindPacket && row.Flags.Has(history.FlagToClient) && row.Text == history.PacketPublish
}
