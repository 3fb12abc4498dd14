package faults

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// The longest that one reading of one proof may take, and the last one when
// somebody asked to heal: a node runs again within five seconds of that.
const (
	sampleBound  = 5 * time.Second
	hurriedBound = 3 * time.Second
)

// records are the proofs as data, without samples yet.
func records(proofs []Proof) []history.ProofRecord {
	out := make([]history.ProofRecord, len(proofs))
	for i, p := range proofs {
		out[i] = history.ProofRecord{
			Name: p.Name, Node: p.Node, Role: p.Role, Want: p.Want, Expect: p.Expect,
			Margin: p.Margin, Unit: p.Unit, Samples: []history.Sample{},
		}
	}
	return out
}

// sample reads all proofs at once. A reading that the caller left before its
// end is dropped: its failure is our own doing. With replace, a sample takes the
// place of the last one of the same moment: while a fault settles, only the
// level that it reaches counts.
func (e *Engine) sample(ctx context.Context, p *placement, m history.Moment, replace bool) {
	e.sampleWithin(ctx, sampleBound, p, m, replace)
}

// baselineBound is how long a fault waits for what it is to break to work.
const baselineBound = 10 * time.Second

// baseline reads the moment before the fault. A client that the fault is to keep out must be
// let in then, or the fault could show no effect. It is awaited for a bounded time: a cluster
// whose leader was paused or killed keeps new clients of all its nodes waiting for seconds
// after the heal. Nothing is awaited while another fault is in place.
func (e *Engine) baseline(ctx context.Context, p *placement) {
	e.sample(ctx, p, history.Before, false)
	waiting, cancel := p.untilAsked(ctx)
	defer cancel()
	bound := time.NewTimer(baselineBound)
	defer bound.Stop()
	for p.unanswered() && !e.list.busy(p) {
		select {
		case <-bound.C:
			return
		case <-waiting.Done():
			return
		case <-time.After(e.opt.Poll):
		}
		p.change(func(l *history.Landing) {
			for i := range l.Proofs {
				l.Proofs[i].Samples = []history.Sample{}
			}
		})
		e.sample(ctx, p, history.Before, false)
	}
}

// unanswered reports whether a probe that is to fail during the fault failed already.
func (p *placement) unanswered() bool {
	return slices.ContainsFunc(p.snapshot().Proofs, func(r history.ProofRecord) bool {
		return r.Want == history.WantFails && slices.ContainsFunc(r.Samples, func(s history.Sample) bool { return !s.OK })
	})
}

func (e *Engine) sampleWithin(ctx context.Context, patience time.Duration, p *placement, m history.Moment, replace bool) {
	bound, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var wg sync.WaitGroup
	for i, proof := range p.plan.Proofs {
		wg.Go(func() {
			if e.disturbed(proof, p) {
				return
			}
			for range readings(proof, m) {
				s := proof.Read(bound)
				s.Moment, s.TimeNS = m, int64(e.opt.Clock.Now())
				if ctx.Err() == nil && !e.disturbed(proof, p) {
					p.change(func(l *history.Landing) { put(&l.Proofs[i], s, replace) })
				}
			}
		})
	}
	wg.Wait()
}

// readings is how often a proof is read at a moment. A time before the fault is read three
// times, since one slow write of a busy host would hide the fault: the median counts.
func readings(proof Proof, m history.Moment) int {
	if m == history.Before && (proof.Want == history.WantSlower || proof.Want == history.WantSlowed) {
		return 3
	}
	return 1
}

// disturbed reports whether a control is none at the moment: another fault
// acts on its node, or on one of its two.
func (e *Engine) disturbed(proof Proof, p *placement) bool {
	return proof.Role == history.RoleControl &&
		(len(e.list.holding(proof.Node, p)) > 0 || len(e.list.holding(proof.Peer, p)) > 0)
}

// failed is the sample of a probe that failed.
func failed(err error) history.Sample {
	return history.Sample{Error: err.Error(), Ours: hostile.Ours(err) || errors.Is(err, router.ErrAgent)}
}

func put(r *history.ProofRecord, s history.Sample, replace bool) {
	last := len(r.Samples) - 1
	if replace && last >= 0 && r.Samples[last].Moment == s.Moment {
		r.Samples[last] = s
		return
	}
	r.Samples = append(r.Samples, s)
}

// decide reads the landing's samples as they are now, and tells the result. How
// its heal ended comes with it: a landing that is over has been decided.
func (e *Engine) decide(p *placement, healed func(*history.Landing)) history.LandingState {
	l := p.snapshot()
	var reasons []string
	if l.State != history.Unsupported {
		l.State, reasons, l.Proofs = e.opt.Decide(l)
	}
	p.change(func(now *history.Landing) {
		now.State, now.Proofs = l.State, l.Proofs
		now.Reasons = slices.Concat(reasons, p.problems)
		healed(now)
	})
	e.opt.OnChange(p.snapshot())
	return l.State
}
