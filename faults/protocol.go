package faults

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// Protocol faults act on chosen MQTT packets in the tap.
func protocolKinds() []Kind {
	return []Kind{
		packetDrop(),
		packetDelay(),
		packetDuplicate(),
		packetCutAfter(),
		packetTruncate(),
		packetMutate(),
	}
}

// Tap is the proxy between clients and nodes, as far as protocol and client
// faults need it.
type Tap interface {
	// Set shows exactly these rules.
	Set(rules []tap.Rule)
	// Count is what a fault's rule did to clients' traffic.
	Count(fault string) tap.Count
	// Has reports whether a fault has a rule.
	Has(fault string) bool
	// Connections are the clients' that a rule is about.
	Connections(r tap.Rule) []tap.Connection
	Halves(r tap.Rule) []tap.Connection
	// Shut counts those whose node can send no more.
	Shut(r tap.Rule) (n int64, err error)
	// Exchange sends one packet of our own through the tap, on a connection
	// where the fault's rule hits it.
	Exchange(ctx context.Context, fault string, packet tap.Type, way tap.Direction) (tap.Outcome, error)
}

// layerTap is the layer of rules in the tap. A fault has one entry in it: Want
// is a [tap.Action], Args a [tap.Rule].
const layerTap = "tap"

type tapLayer struct{ tap Tap }

// NewTapLayer is the layer tap.
func NewTapLayer(t Tap) Layer { return tapLayer{t} }

func (l tapLayer) Render(_ context.Context, active []Entry) error {
	rules := make([]tap.Rule, len(active))
	for i, e := range active {
		rule, err := argsOf[tap.Rule](e)
		if err != nil {
			return err
		}
		rule.Fault, rule.Do = e.Fault, tap.Action(e.Want)
		rules[i] = rule
	}
	l.tap.Set(rules)
	return nil
}

func tapEntry(r tap.Rule) Entry { return Entry{Layer: layerTap, Want: string(r.Do), Args: r} }

// packetParams are how packets are chosen, and what else a fault takes.
func packetParams(more ...Param) []Param {
	return append([]Param{
		{Name: "packet", Default: "publish", OneOf: tap.Types(), Doc: "the type of the packets"},
		{Name: "direction", Default: "both", OneOf: []string{"both", string(tap.ToBroker), string(tap.ToClient)}, Doc: "the way they go"},
		{Name: "nth", Default: 1.0, Min: 1, Max: 1e6, Doc: "only every n-th of them"},
		{Name: "percent", Default: 100.0, Min: 0.001, Max: 100, Less: true, Doc: "only so many of a hundred, decided by the seed for the first, the second and so on"},
		{Name: "seed", Default: 1.0, Min: 0, Max: 1 << 53, Doc: "of percent"},
		{Name: "client", Default: "", Doc: "only clients whose id matches: *, ?, [a-z]; empty for all"},
		{Name: "topic", Default: "", Doc: "of a publish: only topics that match this filter; empty for all"},
	}, more...)
}

// packetRule is the rule of the parameters of [packetParams].
func packetRule(do tap.Action, p Params) (tap.Rule, error) {
	r := tap.Rule{
		Do: do, Direction: tap.Direction(p.text("direction")), Topic: p.text("topic"),
		Nth: int(p.number("nth")), Percent: p.number("percent"), Seed: int64(p.number("seed")),
	}
	if r.Direction == "both" {
		r.Direction = ""
	}
	if client := p.text("client"); client != "" {
		r.Clients = []string{client}
	}
	if float64(r.Nth) != p.number("nth") {
		return r, fmt.Errorf("parameter nth: got %g; valid: a whole number", p.number("nth"))
	}
	return r, r.Packet.UnmarshalText([]byte(p.text("packet")))
}

// packetFault is what all protocol faults have in common: the type's name, the
// rule, and what a probe's packet shows.
type packetFault struct {
	typ  string
	rule tap.Rule
	want string // of a probe's packet
}

func (f packetFault) plan(target Target) (*Injection, error) {
	rule := f.rule
	in, err := target.tapped(&rule)
	if err != nil {
		return nil, err
	}
	in.Proofs = slices.Concat(
		target.acted(fmt.Sprintf("%s packets that met %s", rule.Packet, f.typ), "packets", in.id),
		[]Proof{f.effect(target.Site.Tap, in.id)}, target.bystanders(rule))
	return in, nil
}

// acted are proofs that a fault's rule in the tap acted: at each of the target's nodes, or
// on the target's clients, wherever they are connected.
func (t Target) acted(name, unit string, fault func() string) (list []Proof) {
	proof := func(name, node string, of func(tap.Count) int64) Proof {
		return Proof{
			Name: name, Node: node, Role: history.RoleMechanism, Want: history.WantGrows, Unit: unit,
			Read: func(context.Context) history.Sample {
				c := t.Site.Tap.Count(fault())
				return history.Sample{OK: true, Value: float64(of(c)), State: strings.Join(c.Last, ", ")}
			},
		}
	}
	if t.Clients != nil {
		return []Proof{proof(name, "", tap.Count.Acted)}
	}
	for _, node := range names(t.Nodes) {
		list = append(list, proof(name+", of "+node, node, func(c tap.Count) int64 { return c.At[node] }))
	}
	return list
}

// bystanders are the controls of a fault on clients or their packets: a packet
// of ours on a connection that no fault is about passes the tap, and the
// witness answers as before. The nodes are none: one that dies of a packet
// shows what the fault did, and does not disturb the proof of it.
func (t Target) bystanders(rule tap.Rule) []Proof {
	witness := answers(t.Control[len(t.Control)-1])
	if t.Site.Tap == nil {
		return []Proof{witness}
	}
	return []Proof{{
		Name: "packet of ours on a connection that no fault is about", Role: history.RoleControl, Want: history.WantStill,
		Read: func(ctx context.Context) history.Sample {
			s := exchanged(ctx, t.Site.Tap, "", rule)
			if s.OK && s.State != tap.Arrives {
				s.OK, s.Error = false, s.State
			}
			s.Value = 0
			return s
		},
	}, witness}
}

// effect is a packet of our own on its way through the tap, as its receiver
// sees it: not what the tap says that it did. A delayed packet takes as long as its delay,
// and a busy host makes packets slower but never faster, so the quickest of several counts.
func (f packetFault) effect(t Tap, fault func() string) Proof {
	proof := Proof{
		Name: fmt.Sprintf("%s of ours through the tap", f.rule.Packet), Role: history.RoleEffect, Want: history.WantState, Expect: f.want,
		Read: func(ctx context.Context) history.Sample { return exchanged(ctx, t, fault(), f.rule) },
	}
	if f.rule.Do == tap.Delay {
		once := proof.Read
		proof.Want, proof.Expect, proof.Unit, proof.Margin = history.WantReaches, "", "ms", min(f.rule.DelayMS, longestDelay)
		proof.Read = func(ctx context.Context) history.Sample {
			return quickest(func() history.Sample { return once(ctx) })
		}
	}
	return proof
}

// longestDelay is the longest delay that a probe sees in full, in milliseconds: it gives up
// after 2 s.
const longestDelay = 1800

func exchanged(ctx context.Context, t Tap, fault string, r tap.Rule) history.Sample {
	out, err := t.Exchange(ctx, fault, r.Packet, r.Direction)
	if err != nil {
		return failed(err)
	}
	return history.Sample{OK: true, State: out.What, Value: out.Took.Seconds() * 1e3}
}

// tapped begins an injection of one rule in the tap, about the target's
// clients or nodes.
func (t Target) tapped(r *tap.Rule) (*Injection, error) {
	if t.Site.Tap == nil {
		return nil, fmt.Errorf("%w: the tap was not armed; start the cluster with arm: [tap]", ErrUnsupported)
	}
	if t.Clients == nil {
		r.Nodes = names(t.Nodes)
	}
	if err := t.narrow(r); err != nil {
		return nil, err
	}
	in := &Injection{Mechanism: "tap", Entries: []Entry{tapEntry(*r)}}
	in.Healed = append(in.Healed, unnumbered("rule in the tap", func(context.Context) error {
		if t.Site.Tap.Has(in.id()) {
			return fmt.Errorf("the tap still has a rule of %s", in.id())
		}
		return nil
	}))
	return in, nil
}

// narrow leaves those of the target's clients that the rule's own pattern
// matches.
func (t Target) narrow(r *tap.Rule) error {
	if t.Clients == nil || t.Asked == history.TargetClients {
		return nil
	}
	pattern := "*"
	if len(r.Clients) > 0 {
		pattern = r.Clients[0]
	}
	r.Clients = nil
	for _, c := range t.Clients {
		if ok, _ := path.Match(pattern, c.ID); ok {
			r.Clients = append(r.Clients, c.ID)
		}
	}
	if len(r.Clients) == 0 {
		return fmt.Errorf("none of the %d clients of %s is called %s", len(t.Clients), t.Asked, pattern)
	}
	return nil
}

func tapAvailable(context.Context) (mechanism, missing string) { return "tap", "" }

// newPacketFault makes what a type's fault has in common with the others, from
// parameters; finish sets what is the type's own.
func newPacketFault(typ string, do tap.Action, want string, p Params, finish func(*tap.Rule)) (packetFault, error) {
	r, err := packetRule(do, p)
	if finish != nil {
		finish(&r)
	}
	return packetFault{typ: typ, rule: r, want: want}, errors.Join(err, r.Check())
}

// packetKind is what the kinds of protocol faults have in common.
func packetKind(typ, summary string, example map[string]any, params []Param, make func(Params) (Fault, error)) Kind {
	example["duration_s"] = 4.0
	return Kind{
		Type: typ, Arms: "tap", Summary: summary,
		Params: params, Targets: tapTargets(),
		Example:   Example{Target: history.TargetClients, Params: example},
		New:       make,
		Available: tapAvailable,
	}
}
