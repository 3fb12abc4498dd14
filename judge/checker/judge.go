package checker

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Source goes through a history once. Next returns io.EOF after the last batch; from
// then on Ended says whether the history ended in order.
type Source interface {
	Next() (*history.Batch, error)
	Ended() bool
}

// A Report is all that was found in one run.
type Report struct {
	Results  []verdict.Result `json:"results"`
	Complete Completeness     `json:"complete"`
	Coverage verdict.Coverage `json:"coverage"`
	Totals   verdict.Totals   `json:"totals"`
	Lost     []Span           // which messages Totals.Lost counts

	NodePairs []verdict.NodePair `json:"node_pairs,omitempty"` // of a cluster
	Members   []verdict.Member   `json:"members,omitempty"`    // of shared subscriptions
}

// Judge goes through a history once and judges the claims, in their order; no claims
// means those of the run. The only errors are an unknown claim and an unreadable
// history: everything that the broker did is a result. A checker that panics makes its
// own claim unknown and no other.
func Judge(src Source, ctx Context, claims []string) (Report, error) {
	j, err := newJudge(ctx, claims)
	if err != nil {
		return Report{}, err
	}
	for {
		b, err := src.Next()
		if errors.Is(err, io.EOF) {
			return j.report(src.Ended()), nil
		}
		if err != nil {
			return Report{}, fmt.Errorf("judge: %w", err)
		}
		j.add(b)
	}
}

// A judge holds the folds that go through the history side by side.
type judge struct {
	ctx        Context
	clocks     *clocks
	ledger     *ledger
	benches    []*bench
	complete   *completeness
	coverage   *coverage
	reached    *reached // nil if the run counts no situation
	overlooked *overlooked
	nodePairs  *nodePairs
	members    *members
	all        *losses // for the totals
	events     int64
	broken     breakage // in what all claims share

	pairsBroken, membersBroken breakage // of nodePairs and members, by which nothing is judged
}

// A bench is one claim's checker and its canary. Up to the first row that is
// mutated the two would see the same: there the canary is forked.
type bench struct {
	entry     Entry
	checker   Checker
	canary    Checker // nil while nothing is mutated
	mutation  *mutation
	settled   bool // the canary is, see settler
	disturber disturbance
	unseen    string // why a violation may be none, as packets are not recorded
	idle      bool   // there was nothing to judge, or nothing to mutate

	broken, canaryBroken breakage
}

func newJudge(ctx Context, claims []string) (*judge, error) {
	ctx.Run = besides(byHand(ctx.Run, ctx.Tables), ctx.Landings)
	if len(claims) == 0 {
		claims = slices.Concat(ctx.Run.Claims, ctx.Run.Beside)
	}
	claims = withWire(ctx.Run, claims)
	ctx.ledger = newLedger(ctx)
	ctx.receipts, ctx.dialogue = newReceipts(ctx.ledger), newDialogue(ctx.ledger)
	ctx.dialogue.counts = newReached(ctx.ledger, ctx.Run)
	j := &judge{
		ctx: ctx, clocks: newClocks(ctx), ledger: ctx.ledger, all: newLosses(ctx), reached: ctx.dialogue.counts,
		complete: newCompleteness(ctx), coverage: newCoverage(ctx.ledger), overlooked: newOverlooked(ctx, claims), nodePairs: newNodePairs(ctx.ledger), members: newMembers(ctx.ledger),
	}
	for _, name := range claims {
		e, err := Find(name)
		if err != nil {
			return nil, fmt.Errorf("judge: %w", err)
		}
		b := &bench{entry: e, checker: e.New(ctx), mutation: e.canary(ctx), disturber: e.byOurs(ctx.Run, ctx.Landings)}
		if !ctx.Run.Wire {
			b.unseen = e.ByPackets
		}
		j.benches = append(j.benches, b)
	}
	return j, nil
}

// byHand returns the run with the claims of the workloads that ran in it. They were not
// known when a run by hand was frozen.
func byHand(run *history.Run, tables *history.Tables) *history.Run {
	out := *run
	out.Claims = slices.Clone(run.Claims)
	for _, w := range tables.Workloads {
		for _, claim := range w.Claims {
			if !slices.Contains(out.Claims, claim) {
				out.Claims = append(out.Claims, claim)
			}
		}
		out.Budget.ExpiryS = max(out.Budget.ExpiryS, w.ExpiryS)
	}
	return &out
}

// withWire adds the claims that are judged beside those of the run wherever its
// packets were recorded.
func withWire(run *history.Run, claims []string) []string {
	if !run.Wire {
		return claims
	}
	frozen := run.WireClaims
	if frozen == nil {
		frozen = firstWireClaims(run.Protocol)
	}
	claims = slices.Clone(claims)
	for _, name := range frozen {
		if !slices.Contains(claims, name) {
			claims = append(claims, name)
		}
	}
	return claims
}

// WireClaims returns the claims of a protocol that only packets can show; those of all
// protocols where it is "".
func WireClaims(protocol string) (names []string) {
	for _, e := range All {
		if e.Claim.Wire && (protocol == "" || slices.Contains(e.Protocols, protocol)) {
			names = append(names, e.Claim.Name)
		}
	}
	return names
}

// firstWireClaims returns the claims on packets for a run recorded before runs listed
// theirs: those that there were then.
func firstWireClaims(protocol string) []string {
	first := []string{
		"broker-acks", "broker-qos2-flow", "broker-resend-dup",
		"sdk-ack-order", "sdk-delivers", "sdk-honest", "sdk-lives", "sdk-once", "sdk-qos2-flow", "sdk-resend-dup", "sdk-resubscribes",
	}
	return slices.DeleteFunc(WireClaims(protocol), func(name string) bool { return !slices.Contains(first, name) })
}

func (j *judge) add(b *history.Batch) {
	if b.N == 0 {
		return
	}
	j.events += int64(b.N)
	b = j.clocks.widened(b)
	j.broken.guard(func() {
		j.ledger.add(b)
		j.complete.add(b)
		j.coverage.add(b)
		j.reached.add(b)
	})
	for _, bench := range j.benches {
		// Before any checker sees the batch: a canary forks it as it was.
		bench.canaryBroken.guard(func() {
			if bench.settled {
				return
			}
			if m := bench.mutation.batch(b); m != b || bench.canary != nil {
				bench.show(m)
			}
		})
	}
	j.broken.guard(func() { j.ctx.receipts.add(b) })
	j.ctx.dialogue.broken.guard(func() { j.ctx.dialogue.add(b) })
	j.broken.guard(func() { j.overlooked.add(b) })
	j.pairsBroken.guard(func() { j.nodePairs.add(b) })
	j.membersBroken.guard(func() { j.members.add(b) })
	for _, bench := range j.benches {
		bench.broken.guard(func() { bench.checker.Add(b) })
	}
}

// show lets the canary see a batch.
func (b *bench) show(mutated *history.Batch) {
	if b.canary == nil {
		b.canary = b.checker.fork()
	}
	if mutated.N > 0 {
		b.canary.Add(mutated)
	}
	s, ok := b.canary.(settler)
	b.settled = ok && s.settled()
}

func (j *judge) report(ended bool) Report {
	var out Report
	end := &closing{}
	j.broken.guard(func() {
		end = j.complete.close(ended)
		out = Report{Complete: end.complete, Coverage: j.coverage.result(), Totals: j.coverage.totals(j.all, end), Lost: j.all.spans(end)}
		out.Coverage.Unjudged, out.Coverage.Reached = j.overlooked.result(end), j.reached.result(j.ctx.Run.Wire && !j.ctx.dialogue.broken.broke())
	})
	j.pairsBroken.guard(func() { out.NodePairs = j.nodePairs.result(j.all, end) })
	j.membersBroken.guard(func() { out.Members = j.members.result() })
	if j.broken.broke() {
		out.Complete.Closed, out.Complete.Why = false, append(out.Complete.Why, "reading it broke: "+j.broken.why)
	}
	forged := forgedBy(j.ctx.Landings)
	for _, b := range j.benches {
		if j.broken.broke() {
			b.broken = j.broken
		}
		r := b.result(end, out.Coverage, forged)
		switch c := j.coverage; {
		case r.Status != verdict.Fail:
		case len(c.gone) > 0 && b.entry.explained(r, c.goneAt):
			unsure(&r, "which may be the reason: "+c.gone[0])
		case len(c.stood) > 0 && b.entry.Timed && b.entry.explained(r, c.stoodAt): // what is missing in the end was not late
			unsure(&r, "which may be the reason: "+c.stood[0])
		case b.entry.NeedsComplete && r.Claim.Of != verdict.SDK && j.barred():
			unsure(&r, "nothing that the workload published came to any client: this broker may forbid the login to publish, or limit the size of a message, and acknowledge it all the same [MQTT-3.3.5-2]")
		}
		if b.idle && slices.Contains(j.ctx.Run.Beside, r.Claim.Name) {
			continue // nobody asked, and there is nothing to say
		}
		r.Consumed, r.Reached = j.events, reachedBy(r.Claim.Name, out.Coverage.Reached)
		r.Promised = slices.Contains(j.ctx.Run.Cluster.Promises, r.Claim.Name)
		r.Expected = b.entry.expected(r, j.ctx.Run)
		out.Results = append(out.Results, r)
	}
	return out
}

// barred reports whether an external broker delivered none of the workload's messages. Its rights
// and limits are not known.
func (j *judge) barred() bool {
	if j.ctx.Run.Cluster.Lacks[history.LacksLimits] == "" {
		return false
	}
	subscribed := false
	for s, row := range j.ctx.Tables.Streams {
		if row.Register || row.Will || !j.ctx.ledger.works(int32(s)) {
			continue
		}
		for p := range j.ctx.Tables.Processes {
			if j.ctx.receipts.got(int32(p), int32(s)).n > 0 {
				return false
			}
			subscribed = subscribed || j.ctx.ledger.sessions.owes(int32(p), row.Topic)
		}
	}
	return subscribed
}

// explained reports whether the absence of a process of ours from a time on, or a fault of
// ours, could explain every violation of a failed claim. It explains messages that came late or not
// at all, and any violation from then on.
func (e *Entry) explained(r verdict.Result, from int64) bool {
	missing := e.NeedsComplete && e.Category == Durability || e.Category == Liveness || e.Category == Fairness
	return missing && e.Claim.Of != verdict.SDK || !slices.ContainsFunc(r.Violations, func(v verdict.Violations) bool { return v.FromNS < from })
}

// forgedBy names a fault of ours that changed what was sent, "" for none. MQTT's
// promises are about what was sent on a transport that neither loses nor changes
// bytes (MQTT 3.1.1 section 4.2).
func forgedBy(landings []history.Landing) string {
	for _, l := range landings {
		if l.Forges && l.Times.StartNS() > 0 {
			return fmt.Sprintf("%s (%s of %s)", l.Fault, l.Type, l.Target)
		}
	}
	return ""
}

func (b *bench) result(end *closing, coverage verdict.Coverage, forged string) verdict.Result {
	var r verdict.Result
	b.broken.guard(func() { r = b.checker.Result(end) })
	b.canaryBroken.guard(func() { r.Canary = b.flight(end) })
	r.Claim, r.Checker = b.entry.Claim, b.entry.Checker
	b.idle = !b.broken.broke() && (r.Judged == 0 && r.Status == verdict.Unknown || r.Status == verdict.Pass && r.Canary.Skipped != "")
	switch {
	case b.broken.broke():
		r.Summary = "not judged"
		unsure(&r, "its checker broke, which is a defect of rmq-mcp and none of the broker: "+b.broken.why)
	case b.entry.NeedsComplete && !end.complete.Closed && r.Status != verdict.Unknown:
		unsure(&r, "the history is not complete: what is missing could explain or hide it", end.complete.Why...)
	case b.entry.Timed && r.Status == verdict.Fail && len(coverage.Ended) > 0:
		unsure(&r, "which may be the reason: "+coverage.Ended[0])
	case b.entry.Timed && coverage.HostStarvedS > verdict.MaxStarvedS && r.Status == verdict.Fail && r.Counts[countEnded] == 0:
		unsure(&r, sentence("the host kept everything from running for %.1f s, which may be why it took so long", coverage.HostStarvedS))
	case b.unseen != "" && r.Status == verdict.Fail:
		unsure(&r, b.unseen+"; arm the tap, which records them")
	case forged != "" && b.entry.Category != Operational && r.Status == verdict.Fail:
		unsure(&r, forged+" changed bytes on their way unnoticed: what went wrong may be its doing")
	case b.disturber.why != "" && r.Status == verdict.Fail && b.entry.explained(r, b.disturber.from):
		unsure(&r, b.disturber.String())
	case r.Status == verdict.Pass && b.canaryBroken.broke():
		unsure(&r, "its canary broke, which is a defect of rmq-mcp and none of the broker: "+b.canaryBroken.why)
	case r.Status == verdict.Pass && r.Canary.Skipped != "":
		unsure(&r, "its canary had nothing to mutate: "+r.Canary.Skipped)
	case r.Status == verdict.Pass && !r.Canary.Red:
		unsure(&r, "canary stayed green: the checker did not notice that we "+r.Canary.Mutation)
	}
	return r
}

// flight ends the canary and says whether it turned red.
func (b *bench) flight(end *closing) verdict.Canary {
	if b.mutation.end != nil {
		if rows := b.mutation.end(); len(rows) > 0 {
			b.show(batchOf(rows))
		}
	}
	if b.mutation.did == "" {
		return verdict.Canary{Skipped: b.mutation.idle}
	}
	return verdict.Canary{Mutation: b.mutation.did, Red: b.canary.Result(end).Status == verdict.Fail}
}

// unsure makes a result unknown. Its anomalies stay readable.
func unsure(r *verdict.Result, why string, more ...string) {
	r.Status = verdict.Unknown
	r.Reasons = append(append(r.Reasons, why), more...)
}
