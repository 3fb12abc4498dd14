package faults

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Loss drops some percent of the packets on some links, as on a wire: what
// segmentation offload has put together is cut into segments first. Where the
// kernel has no NFQUEUE it drops, without bursts or a seed, packets as the router
// forwards them: one may be 64 KiB of a TCP stream.
type Loss struct {
	Percent   float64
	Burst     float64 // mean number of packets in a bad state, 0 for none
	Bad       float64 // percent lost in a bad state
	Seed      uint64
	With      string // nodes, clients, all
	Direction string // both, out, in
}

// Name is loss.
func (Loss) Name() string { return "loss" }

// Plan plans one rule for all links of the target.
func (l Loss) Plan(_ context.Context, target Target) (*Injection, error) {
	if in, err := l.queued(target); err == nil || l.Burst > 0 || !errors.Is(err, ErrUnsupported) {
		return in, err
	}
	net, err := target.router(router.Lose)
	if err != nil {
		return nil, err
	}
	links, hit, err := target.crossed(net, l.With, l.Direction)
	if err != nil {
		return nil, err
	}
	in := &Injection{
		Mechanism: "nft",
		Entries:   []Entry{netEntry(router.Rule{Do: router.Lose, Links: links, Percent: l.Percent})},
	}
	in.Proofs = append(in.Proofs, hits(net, target, hit, in)...)
	for _, p := range unharmed(net, hit) {
		in.Proofs = append(in.Proofs, lossy(net, in, p, l.Percent))
	}
	in.Proofs = append(in.Proofs, target.others(net, 0)...)
	in.Healed = append(in.Healed, unruled(net, in))
	for _, p := range hit {
		in.Healed = append(in.Healed, lossless(net, in, p))
	}
	return in, nil
}

// queued plans one queue for all links of the target.
func (l Loss) queued(target Target) (*Injection, error) {
	links, err := target.links(l.With, l.Direction)
	if err != nil {
		return nil, err
	}
	t, err := target.treat(l.treatment(), links)
	if err != nil {
		return nil, err
	}
	seen := share{what: "lost", percent: l.Percent, burst: l.Burst, of: func(p router.Pings) float64 { return float64(p.Sent - p.Arrived) }}
	return t.proveShare(target, seen), nil
}

func (l Loss) treatment() netqueue.Treatment {
	t := netqueue.Treatment{Do: netqueue.Drop, Percent: l.Percent, Seed: l.Seed}
	if l.Burst > 0 {
		t.Burst, t.BadPercent = l.Burst, l.Bad
	}
	return t
}

// asAsked is the State of a link that loses as many probes as it should.
const asAsked = "as asked"

// lossy is the effect: of many probes about the percentage is lost. Where
// another fault is on the same link, at least that.
func lossy(net Net, in *Injection, p pair, percent float64) Proof {
	count, tolerance := lossProbes(percent)
	return Proof{
		Name: fmt.Sprintf("lost of %d probes from %s, allowed is %.1f to %.1f %%", count, p, percent-tolerance, percent+tolerance),
		Role: history.RoleEffect, Want: history.WantState, Expect: asAsked, Unit: "%",
		Read: func(ctx context.Context) history.Sample {
			lost, err := lostPercent(ctx, net, p, count)
			s := value(lost, err)
			most := percent + tolerance
			if net.Disturbed(p.from, p.to, in.id()) {
				most = 100
			}
			s.State = fmt.Sprintf("%.1f %%", lost)
			if lost >= percent-tolerance && lost <= most {
				s.State = asAsked
			}
			return s
		},
	}
}

// lossProbes is how many probes tell a loss from none, and how far off their
// share may be.
func lossProbes(percent float64) (count int, tolerance float64) {
	p := percent / 100
	count = max(200, int(math.Ceil(20*(1-p)/p)))
	return lossProbesOf(percent, float64(count))
}

// lossProbesOf is how far off the share of so many may be: four standard
// deviations of a binomial distribution, which one sample in 16,000 exceeds.
func lossProbesOf(percent, count float64) (int, float64) {
	p := percent / 100
	return int(count), 400 * math.Sqrt(p*(1-p)/count)
}

// lostPercent sends probes one way and answers how many did not arrive.
func lostPercent(ctx context.Context, net Prober, p pair, count int) (float64, error) {
	got, err := net.Ping(ctx, router.Ping{From: p.from, To: p.to, Count: count, Interval: 500 * time.Microsecond})
	if err != nil {
		return 0, err
	}
	if got.Sent == 0 {
		return 0, fmt.Errorf("no probe could be sent from %s", p)
	}
	return 100 * float64(got.Sent-got.Arrived) / float64(got.Sent), nil
}

// lossless reads back that nothing is lost any more.
func lossless(net Net, in *Injection, p pair) Check {
	return onLink(net, in, p, "lost of 100 probes", "%", func(ctx context.Context) (float64, error) {
		lost, err := lostPercent(ctx, net, p, 100)
		if err == nil && lost > 0 {
			err = fmt.Errorf("%.0f %% of probes from %s are still lost", lost, p)
		}
		return lost, err
	})
}

func loss() Kind {
	return Kind{
		Type: "loss",
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["percent"], p["burst_packets"] = whole(d, 5, 30), oneOf(d, 0, 0, 4)
			drawLinks(d, s, p)
		}},
		Summary: "some percent of the packets are lost, each by a chance of its own; TCP sends them again, which shows as time",
		Params: []Param{
			{Name: "percent", Default: 10.0, Min: 1, Max: 99, Less: true, Doc: "of the packets on these links, as on a wire"},
			{Name: "burst_packets", Default: 0.0, Min: 0, Max: 1000, Less: true, Doc: "losses come in bursts of so many packets in the mean (Gilbert-Elliott); 0: each packet by a chance of its own"},
			{Name: "bad_percent", Default: 100.0, Min: 1, Max: 100, Doc: "lost within a burst; more than percent"},
			packetSeed(),
			directionParam(), withParam("all"),
		},
		Targets:   networkTargets(),
		Example:   Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "percent": 10.0}},
		New:       newLoss,
		Available: byRouter("nfqueue"),
	}
}

func newLoss(p Params) (Fault, error) {
	l := Loss{
		Percent: p.number("percent"), Burst: p.number("burst_packets"), Bad: p.number("bad_percent"),
		Seed: p.seed(), With: p.text("with"), Direction: p.text("direction"),
	}
	return l, l.treatment().Check()
}
