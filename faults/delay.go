package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Delay holds back every packet on some links, one way each: what both
// directions are asked for takes twice as long there and back. With jitter the
// packets overtake each other, as they do with netem.
type Delay struct {
	By, Jitter   time.Duration
	Distribution string
	Seed         uint64
	With         string // nodes, clients, all
	Direction    string // both, out, in

	every bool // every probe has to arrive: no count tells of packets that were dropped
}

// Name is delay.
func (Delay) Name() string { return "delay" }

// Plan plans one queue for all links of the target.
func (d Delay) Plan(_ context.Context, target Target) (*Injection, error) {
	links, err := target.links(d.With, d.Direction)
	if err != nil {
		return nil, err
	}
	t, err := target.treat(netqueue.Treatment{
		Do: netqueue.Delay, Percent: 100, Seed: d.Seed,
		Delay: d.By, Jitter: d.Jitter, Distribution: netqueue.Distribution(d.Distribution),
	}, links)
	if err != nil {
		return nil, err
	}
	d.every = target.Site.Injector != nil
	before := map[pair]*baseline{}
	for _, p := range t.pairs {
		before[p] = &baseline{}
	}
	return t.prove(target,
		func(p pair) Proof { return d.slower(t.net, t.Injection, p, before[p]) },
		func(p pair) Check { return d.over(t.net, t.Injection, p, before[p]) }), nil
}

// A baseline is how long probes of a link took before the fault.
type baseline struct {
	mu     sync.Mutex
	took   time.Duration
	shared bool // other faults were on the link
}

// bounds are by how much probes may take longer. A jitter's may be off
// by four standard errors of the median of so many. A busy machine adds some to
// every probe, and much where it stalls.
func (d Delay) bounds() (least, most time.Duration) {
	off := d.By/10 + d.Jitter*8/10
	return max(d.By-off, d.By/5), 2*d.By + off + 200*time.Millisecond
}

const delayProbes = 41

// slower is the effect: probes take as much longer, one way, as was asked.
func (d Delay) slower(net Net, in *Injection, p pair, before *baseline) Proof {
	least, most := d.bounds()
	return Proof{
		Name: fmt.Sprintf("one-way delay of probes from %s, wanted is %v to %v more", p, least, most),
		Role: history.RoleEffect, Want: history.WantState, Expect: asAsked, Unit: "ms",
		Read: func(ctx context.Context) history.Sample {
			took, err := d.probe(ctx, net, p)
			before.mu.Lock()
			defer before.mu.Unlock()
			others := net.Disturbed(p.from, p.to, in.id())
			if !placed(net, in) {
				before.took, before.shared = took, others
			}
			s := value(took.Seconds()*1e3, err)
			grown := took - before.took
			if before.shared && !others {
				grown = took // what else took time before does so no more
			}
			s.State = fmt.Sprintf("%.1f ms more", grown.Seconds()*1e3)
			if grown >= least && (grown <= most || others) {
				s.State = asAsked
			}
			return s
		},
	}
}

// placed reports whether a fault's rule is in the router.
func placed(net Filter, in *Injection) bool {
	return slices.ContainsFunc(net.Rules(), func(r router.Rule) bool { return r.Fault == in.id() })
}

// probe is how long probes take one way, within the time that one sample may take: the
// fastest of them where all are held alike, which a busy machine makes slow last, and
// with a jitter the median.
func (d Delay) probe(ctx context.Context, net Prober, p pair) (time.Duration, error) {
	wait := min(d.By+3*d.Jitter, 2*time.Second) + 500*time.Millisecond
	got, err := net.Ping(ctx, router.Ping{From: p.from, To: p.to, Count: delayProbes, Wait: wait})
	if err == nil && got.Arrived == 0 {
		err = errors.New("no probe arrived from " + p.String() + " " + got.Error)
	}
	if err == nil && len(got.There) == 0 {
		err = errors.New("no probe came back from " + p.to + ", so the clocks of both ends cannot be compared")
	}
	if err == nil && d.every && got.Arrived < got.Sent {
		err = fmt.Errorf("%d of %d probes were lost from %s: more packets are delayed than the queue holds; ask for less delay, or less load", got.Sent-got.Arrived, got.Sent, p)
	}
	if err != nil {
		return 0, err
	}
	slices.Sort(got.There)
	if d.Jitter == 0 {
		return got.There[0], nil
	}
	return got.There[len(got.There)/2], nil
}

// over reads back that probes do not take as long any more.
func (d Delay) over(net Net, in *Injection, p pair, before *baseline) Check {
	least, _ := d.bounds()
	return onLink(net, in, p, "one-way delay of probes", "ms", func(ctx context.Context) (float64, error) {
		took, err := d.probe(ctx, net, p)
		before.mu.Lock()
		defer before.mu.Unlock()
		if err == nil && took-before.took >= least {
			err = fmt.Errorf("probes from %s still take %v", p, took)
		}
		return milliseconds(took), err
	})
}

func delay() Kind {
	return Kind{
		Type: "delay",
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			ms := 10 * whole(d, 3, 25)
			p["delay_ms"], p["jitter_ms"] = ms, oneOf(d, 0, ms/2)
			drawLinks(d, s, p)
		}},
		Summary: "every packet is held back, one way; with direction both a round trip takes twice that longer",
		Params: []Param{
			{Name: "delay_ms", Default: 100.0, Min: 1, Max: 2000, Less: true, Doc: "how long each packet is held, one way"},
			{Name: "jitter_ms", Default: 0.0, Min: 0, Max: 2000, Less: true, Doc: "by how much that differs from packet to packet, at most the delay; packets overtake each other then"},
			{Name: "distribution", Default: string(netqueue.Uniform), OneOf: netqueue.Distributions(), Doc: "of the jitter: uniform within it, or with it as the standard deviation"},
			packetSeed(), directionParam(), withParam("all"),
		},
		Targets:   networkTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "delay_ms": 50.0}},
		New:       newDelay,
		Available: byRouter("nfqueue"),
	}
}

func newDelay(p Params) (Fault, error) {
	d := Delay{
		By: p.milliseconds("delay_ms"), Jitter: p.milliseconds("jitter_ms"), Distribution: p.text("distribution"),
		Seed: p.seed(), With: p.text("with"), Direction: p.text("direction"),
	}
	if d.Jitter > d.By {
		return nil, fmt.Errorf("jitter_ms %g is more than delay_ms %g: no packet can be early", p.number("jitter_ms"), p.number("delay_ms"))
	}
	return d, nil
}
