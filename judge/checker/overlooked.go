package checker

import (
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Notice says what the violations of a claim are called in a run without it. The verdict
// then reports them as not judged.
type Notice struct {
	What     string // messages that came twice
	Scenario string // one that judges it
}

// overlooked collects what a run shows beside its claims.
type overlooked struct {
	ledger  *ledger
	benches []*bench          // without canaries: nothing passes by them
	refused int64             // subscriptions
	faults  bool              // were in place: to send something again there may be a reason
	why     map[string]string // claims are not judged, by name
	got     *receipts
	frozen  bool // the run says what is judged beside its claims: those of before are judged as they were
}

func newOverlooked(ctx Context, claims []string) *overlooked {
	c := &overlooked{ledger: ctx.ledger, why: ctx.Run.NotClaimed, faults: len(ctx.Landings) > 0, got: ctx.receipts, frozen: len(ctx.Run.Beside) > 0}
	for _, e := range All {
		made := slices.ContainsFunc(ctx.Tables.Processes, func(p history.Process) bool { return slices.Contains(e.Protocols, p.Protocol) })
		if e.Notice.What != "" && made && !slices.Contains(claims, e.Claim.Name) {
			c.benches = append(c.benches, &bench{entry: e, checker: e.New(ctx)})
		}
	}
	return c
}

func (c *overlooked) add(b *history.Batch) {
	for _, bench := range c.benches {
		bench.broken.guard(func() { bench.checker.Add(b) })
	}
	for _, i := range c.ledger.rows(b).control {
		p := b.Process[i]
		if b.Kind[i] == history.KindSubscribe && b.Edge[i] == history.Return && b.Outcome[i] == history.Fail &&
			uint32(p) < uint32(len(c.ledger.tables.Processes)) && c.ledger.tables.Processes[p].Protocol != contract.MQ9 {
			c.refused++
		}
	}
}

// result is a sentence for each kind of thing that was seen.
func (c *overlooked) result(end *closing) (seen []string) {
	for _, bench := range c.benches {
		var r verdict.Result
		bench.broken.guard(func() { r = bench.checker.Result(end) })
		n := bench.entry.Notice
		if r.Status != verdict.Fail || bench.entry.NeedsComplete && !end.complete.Closed || bench.entry.ByPackets != "" && c.faults {
			continue
		}
		scenario := n.Scenario
		if bench.entry.ByPackets != "" {
			scenario += " with the tap armed"
		}
		if why := c.why[bench.entry.Claim.Name]; why != "" {
			seen = append(seen, sentence("seen and not claimed here: %d %s, because %s; %s claims %s", r.Found(), n.What, why, scenario, bench.entry.Claim.Name))
			continue
		}
		seen = append(seen, sentence("seen and not judged here: %d %s; %s claims %s", r.Found(), n.What, scenario, bench.entry.Claim.Name))
	}
	if n := c.ledger.wire.anew(); n > 0 && !c.faults {
		seen = append(seen, sentence("seen and judged by no claim: %d messages of QoS 1 that the broker sent again under another packet id and without DUP, on connections that were never lost: MQTT allows it, and a healthy broker has no reason for it", n))
	}
	if lost, clients := c.lostConnections(); lost > manyLost*clients && !c.faults {
		seen = append(seen, sentence("seen and judged by no claim: %d connections were lost without a fault, of clients: %d; the log of the broker may have the reason", lost, clients))
	}
	seen = append(seen, c.idleMembers()...)
	if c.refused > 0 {
		seen = append(seen, sentence("seen and judged by no claim: %d refused subscriptions", c.refused))
	}
	return seen
}

// manyLost is the number of lost connections of a client above which they are remarkable.
const manyLost = 2

// lostConnections returns how many connections ended without DISCONNECT, of clients that
// connected again, and how many clients connected.
func (c *overlooked) lostConnections() (lost, clients int64) {
	w := c.ledger.wire
	for p := range w.clients {
		greeted := w.clients[p].greeted
		if len(greeted) == 0 || c.ledger.route.probed(int32(p)) {
			continue
		}
		clients++
		for _, g := range greeted[:len(greeted)-1] {
			if g.left == history.None {
				lost++
			}
		}
	}
	return lost, clients
}

// fairPart is the number of messages per member of a group from which on a member
// without any is remarkable.
const fairPart = 50

// idleMembers returns a sentence for each member of a shared subscription that stayed
// connected and got nothing, while the others got many messages. A sum over the group
// hides it.
func (c *overlooked) idleMembers() (seen []string) {
	l := c.ledger
	for g := range l.route.groups {
		members, had, all := l.members(int32(g)), map[int32]int64{}, int64(0)
		for i, pair := range l.route.pairs {
			if pair.group == int32(g) {
				had[int32(i/l.route.streams)] += c.got.of[i].seen
				all += c.got.of[i].seen
			}
		}
		for _, p := range members {
			if c.frozen && had[p] == 0 && all >= fairPart*int64(len(members)) && len(l.sessions.of[p].connects) == 1 {
				seen = append(seen, sentence("seen and judged by no claim: %s got none of the %d messages that reached the %d members of %s, and was connected all the time: whom a message goes to is the broker's to choose", l.process(p), all, len(members), l.route.groups[g].filter))
			}
		}
	}
	return seen
}
