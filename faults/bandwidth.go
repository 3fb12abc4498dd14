package faults

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/shaper"
)

// A Bandwidth limits the rate to each host at the end of some links. The limit
// holds for all packets that come to the host on these links together. Excess
// packets wait, and are dropped when too many wait. Clients that get a host of
// their own later are not limited.
type Bandwidth struct {
	KBit      float64 // per second, 1000 bits each
	With      string  // nodes, clients, all
	Direction string  // both, out, in
}

// Name is bandwidth.
func (Bandwidth) Name() string { return "bandwidth" }

// Plan plans a class of htb at the end of every link, and a rule that counts the packets of each node:
// the nodes share the classes of the hosts that they send to.
func (b Bandwidth) Plan(_ context.Context, target Target) (*Injection, error) {
	net, err := target.network()
	if err != nil {
		return nil, err
	}
	shaper, err := target.shaper("htb")
	if err != nil {
		return nil, err
	}
	links, hit, err := target.crossed(net, b.With, b.Direction)
	if err != nil {
		return nil, err
	}
	in := &Injection{
		Mechanism: "htb",
		Entries: []Entry{{
			Layer: layerShape, Want: "bandwidth",
			Args: shape{Links: links, RateBytes: uint64(b.KBit * 1000 / 8)},
		}, netEntry(router.Rule{Do: router.Pass, Links: links})},
	}
	in.Proofs = append(in.Proofs, reached(shaper, in, target.counted(net, hit, "share of the rate that the system's packets take", "%", in.hits(net)))...)
	measured := unharmed(net, hit)
	for _, p := range measured {
		in.Proofs = append(in.Proofs, b.slow(net, p, sharing(measured, p.to)))
	}
	in.Proofs = append(in.Proofs, target.others(net, 0)...)
	in.Healed = append(in.Healed, unshaped(shaper, in), unruled(net, in))
	for _, p := range hit {
		in.Healed = append(in.Healed, b.over(net, in, p))
	}
	return in, nil
}

// The system's packets reach the rate where they take this much of it, in percent,
// for this long at some time. Bursts wait for it too where a hundredth is asked for:
// that the kernel had packets wait says little.
const (
	reachedShare  = 80
	reachedWindow = 300 * time.Millisecond
)

// reached are the mechanism's proofs: the largest share of the rate that the system's own packets took
// to one host, for each node with packets on the links. A packet dropped for want of room is all of it.
// Probes have a class of their own.
func reached(s Shaper, in *Injection, counted []Proof) []Proof {
	share := shareOf(s, in)
	for i := range counted {
		packets := counted[i].Read
		counted[i].Want, counted[i].Margin = history.WantSlower, reachedShare
		counted[i].Read = func(ctx context.Context) history.Sample {
			if s := packets(ctx); !s.OK || s.Value == 0 {
				return s
			}
			return share(ctx)
		}
	}
	return counted
}

// shareOf reads that share, until it is large enough.
func shareOf(s Shaper, in *Injection) func(context.Context) history.Sample {
	var mu sync.Mutex
	var peak float64
	return func(ctx context.Context) history.Sample {
		mu.Lock()
		defer mu.Unlock()
		was, err := s.Stats(in.id())
		if err != nil || len(was) == 0 || peak >= reachedShare {
			return value(peak, err)
		}
		began := time.Now()
		select {
		case <-ctx.Done(): // one packet in a moment is more than any rate
			return value(peak, ctx.Err())
		case <-time.After(reachedWindow):
		}
		is, err := s.Stats(in.id())
		for _, st := range is {
			i := slices.IndexFunc(was, func(w shaper.Stats) bool { return w.Interface == st.Interface })
			if st.Dropped > 0 {
				peak = 100
			} else if i >= 0 && st.Bytes > was[i].Bytes {
				could := float64(st.RateBytes) * time.Since(began).Seconds()
				peak = min(100, max(peak, 100*float64(st.Bytes-was[i].Bytes)/could))
			}
		}
		return value(peak, err)
	}
}

// Probes that are sent at once take as long as the rate needs for them: a
// quarter of a second.
const (
	bandwidthProbe   = 1400 // bytes of payload
	bandwidthHeaders = 28 + 14
	bandwidthWindow  = 250 * time.Millisecond
)

func (b Bandwidth) probes(sharing int) int {
	least := 12
	if sharing > 2 {
		least = 6 // the others fill the queue
	}
	return min(max(int(bandwidthWindow.Seconds()/b.takes(1).Seconds())/sharing, least), 500)
}

// takes is how long so many probes need at the rate.
func (b Bandwidth) takes(probes int) time.Duration {
	const bits = (bandwidthProbe + bandwidthHeaders) * 8
	return time.Duration(float64(probes) * bits / (b.KBit * 1000) * float64(time.Second))
}

// sharing is how many bursts may come to a host at the same time and share its
// rate: the probes sent to it, and the answers to its own.
func sharing(all []pair, host string) (n int) {
	for _, p := range all {
		if p.to == host || p.from == host {
			n++
		}
	}
	return max(n, 1)
}

// slow is the effect: a burst of probes arrives at about the rate, or its part
// of that.
func (b Bandwidth) slow(net Net, p pair, sharing int) Proof {
	count, least, most := b.probes(sharing), 0.3*b.KBit/float64(sharing), 1.5*b.KBit
	return Proof{
		Name: fmt.Sprintf("rate of %d probes from %s, allowed is %.0f to %.0f kbit/s", count, p, least, most),
		Role: history.RoleEffect, Want: history.WantState, Expect: asAsked, Unit: "kbit/s",
		Read: func(ctx context.Context) history.Sample {
			rate, err := b.rate(ctx, net, p, count, sharing)
			s := value(rate, err)
			s.State = fmt.Sprintf("%.0f kbit/s", rate)
			if rate >= least && rate <= most {
				s.State = asAsked
			}
			return s
		},
	}
}

// rate is the bits of a burst over the time that it took, in thousands per
// second. The first one passes at once. How long the last one was on its way says
// less: on some hosts sending takes a good part of the time. A burst may come last of those
// that share the rate.
func (b Bandwidth) rate(ctx context.Context, net Prober, p pair, n, sharing int) (float64, error) {
	wait := max(2*time.Second, 2*b.takes(n*sharing))
	got, err := net.Ping(ctx, router.Ping{From: p.from, To: p.to, Count: n, Size: bandwidthProbe, Interval: 10 * time.Microsecond, Wait: wait})
	if err == nil && len(got.There) < 2 {
		err = errors.New("probes did not arrive from " + p.String() + " " + got.Error)
	}
	if err != nil {
		return 0, err
	}
	bits := float64(len(got.There)-1) * (bandwidthProbe + bandwidthHeaders) * 8
	return bits / got.Span.Seconds() / 1000, nil
}

// over reads back that probes are faster than the rate again.
func (b Bandwidth) over(net Net, in *Injection, p pair) Check {
	return onLink(net, in, p, fmt.Sprintf("rate of %d probes", b.probes(1)), "kbit/s", func(ctx context.Context) (float64, error) {
		rate, err := b.rate(ctx, net, p, b.probes(1), 1)
		if err == nil && rate <= 1.5*b.KBit {
			err = fmt.Errorf("probes from %s still pass at %.0f kbit/s", p, rate)
		}
		return rate, err
	})
}

func bandwidth() Kind {
	return Kind{
		Type: "bandwidth", Cabled: true,
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["rate_kbit"] = 100 * whole(d, 2, 6)
			drawLinks(d, s, p)
		}},
		Summary: "no more than a rate passes to each host at the end of the links; what is more waits, then is dropped",
		Params: []Param{
			{Name: "rate_kbit", Default: 300.0, Min: 50, Max: 20_000, Doc: "thousands of bits per second, to each receiving host, from all senders meant together"},
			directionParam(), withParam("all"),
		},
		Targets: networkTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "rate_kbit": 300.0}},
		New: func(p Params) (Fault, error) {
			return Bandwidth{KBit: p.number("rate_kbit"), With: p.text("with"), Direction: p.text("direction")}, nil
		},
		Available: byRouter("htb"),
	}
}
