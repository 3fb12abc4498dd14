package faults

import (
	"context"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// A Corrupt turns one bit in the payload of some percent of the packets on some
// links. Where the checksum is left as it was the receiver's kernel throws such
// a packet away; where it is mended the application gets the wrong byte.
type Corrupt struct {
	Percent   float64
	Checksum  string // left, mended
	Seed      uint64
	With      string // nodes, clients, all
	Direction string // both, out, in
}

// Values of [Corrupt.Checksum]: the checksum of a corrupted packet is left as
// it was, or mended to fit.
const (
	checksumLeft   = "left"
	checksumMended = "mended"
)

// Name is corrupt.
func (Corrupt) Name() string { return "corrupt" }

// Plan plans one queue for all links of the target.
func (c Corrupt) Plan(_ context.Context, target Target) (*Injection, error) {
	links, err := target.links(c.With, c.Direction)
	if err != nil {
		return nil, err
	}
	t, err := target.treat(netqueue.Treatment{
		Do: netqueue.Corrupt, Percent: c.Percent, Silent: c.Checksum == checksumMended, Seed: c.Seed,
	}, links)
	if err != nil {
		return nil, err
	}
	seen := share{what: "corrupted", percent: c.Percent, atLeast: true, of: func(p router.Pings) float64 { return float64(p.Corrupted) }}
	if c.Checksum == checksumLeft {
		// The kernel of the host they are sent to threw them away.
		seen = share{what: "thrown away", percent: c.Percent, of: func(p router.Pings) float64 { return float64(p.Sent - p.Arrived) }}
		for _, host := range receivers(unharmed(t.net, t.pairs)) {
			t.Proofs = append(t.Proofs, checksumErrors(t.net, host))
		}
	}
	in := t.proveShare(target, seen)
	in.Forges = c.Checksum == checksumMended
	return in, nil
}

// receivers are the hosts at the far end, each once.
func receivers(all []pair) []string {
	var out []string
	known := map[string]bool{}
	for _, p := range all {
		if !known[p.to] {
			out = append(out, p.to)
		}
		known[p.to] = true
	}
	return out
}

// checksumErrors is the effect on the kernel of a host: it sees what is wrong.
func checksumErrors(net Prober, host string) Proof {
	return Proof{
		Name: "segments and datagrams with a wrong checksum at " + host,
		Role: history.RoleEffect, Want: history.WantGrows, Unit: "packets",
		Read: func(context.Context) history.Sample {
			n, err := net.ChecksumErrors(host)
			return value(float64(n), err)
		},
	}
}

func corrupt() Kind {
	return Kind{
		Type: "corrupt",
		Draw: Draw{All: true, Params: func(d Dice, s Setting, p map[string]any) {
			p["percent"] = whole(d, 10, 40)
			drawLinks(d, s, p)
		}},
		Summary: "one bit of the payload of some percent of the packets is another; the receiver's kernel notices and throws them away, or with checksum mended the application gets them",
		Params: []Param{
			{Name: "percent", Default: 10.0, Min: 1, Max: 100, Less: true, Doc: "of the packets on these links that have a payload, as on a wire"},
			{Name: "checksum", Default: checksumLeft, OneOf: []string{checksumLeft, checksumMended}, Doc: "left: detected, as a bad cable does; mended: silent, as bad memory does, so that no claim about messages can fail by it, only no-panic and the like"},
			packetSeed(), directionParam(), withParam("all"),
		},
		Targets: networkTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 5.0, "percent": 20.0}},
		New: func(p Params) (Fault, error) {
			return Corrupt{
				Percent: p.number("percent"), Checksum: p.text("checksum"), Seed: p.seed(),
				With: p.text("with"), Direction: p.text("direction"),
			}, nil
		},
		Available: byRouter("nfqueue"),
	}
}
