package faults

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A share is the effect of a fault that hits some percent of packets by chance,
// as probes see it.
type share struct {
	what    string // duplicated
	percent float64
	burst   float64 // mean number in a row, 0 for none
	of      func(router.Pings) float64
	// atLeast: probes may see more of it than the fault does, as where both ways
	// are hit and what is seen cannot be told by way.
	atLeast bool
}

// proof is that about the percentage of many probes is hit. Where another fault
// is on the same link, at least that.
func (s share) proof(net Net, in *Injection, p pair) Proof {
	count, least, most := s.bounds()
	return Proof{
		Name: fmt.Sprintf("%s of %d probes from %s, allowed is %.1f to %.1f %%", s.what, count, p, least, most),
		Role: history.RoleEffect, Want: history.WantState, Expect: asAsked, Unit: "%",
		Read: func(ctx context.Context) history.Sample {
			percent, err := s.seen(ctx, net, p, count)
			out := value(percent, err)
			out.State = fmt.Sprintf("%.1f %%", percent)
			if percent >= least && (percent <= most || net.Disturbed(p.from, p.to, in.id())) {
				out.State = asAsked
			}
			return out
		},
	}
}

// bounds are how many probes are sent, and which percentage is as asked. Hits
// that come in a row vary as if there were fewer packets.
func (s share) bounds() (count int, least, most float64) {
	count, tolerance := lossProbes(s.percent)
	if s.burst > 1 {
		count = min(count*int(s.burst+1), mostProbes)
		_, tolerance = lossProbesOf(s.percent, float64(count)/(2*s.burst))
	}
	least, most = max(s.percent-tolerance, 1e-3), min(s.percent+tolerance, 100)
	if s.atLeast {
		most = 100
	}
	return count, least, most
}

// mostProbes are sent in about two seconds.
const mostProbes = 4000

func (s share) seen(ctx context.Context, net Net, p pair, count int) (float64, error) {
	wait := 200 * time.Millisecond
	if net.Disturbed(p.from, p.to, "") {
		wait = probeWait
	}
	got, err := net.Ping(ctx, router.Ping{
		From: p.from, To: p.to, Count: count, Interval: 500 * time.Microsecond, Wait: wait, Linger: 20 * time.Millisecond,
	})
	if err != nil {
		return 0, err
	}
	if got.Sent == 0 {
		return 0, fmt.Errorf("no probe could be sent from %s", p)
	}
	return 100 * s.of(got) / float64(got.Sent), nil
}

// none reads back that nothing of it is to be seen.
func (s share) none(net Net, in *Injection, p pair) Check {
	return onLink(net, in, p, s.what+" of 100 probes", "%", func(ctx context.Context) (float64, error) {
		percent, err := s.seen(ctx, net, p, 100)
		if err == nil && percent > 0 {
			err = fmt.Errorf("%.0f %% of probes from %s are still %s", percent, p, s.what)
		}
		return percent, err
	})
}
