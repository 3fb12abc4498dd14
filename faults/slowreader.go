package faults

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// SlowReader reads what the broker sends to the target's clients at a few
// bytes a second, so that the rest piles up in the broker.
type SlowReader struct{ BytesPerS float64 }

// Name is slow_reader.
func (SlowReader) Name() string { return "slow_reader" }

// Plan plans a rule in the tap.
func (f SlowReader) Plan(_ context.Context, target Target) (*Injection, error) {
	return target.connectionFault(tap.Rule{Do: tap.Slow, BytesPerS: f.BytesPerS}, crowd.pilesUp, crowd.pileUpInMost)
}

// pilesUp is the effect of reading slowly: the nodes' kernels hold what the clients do
// not take. If a node runs elsewhere, the tap's kernel tells that it has shut the window
// of a connection, so that the node can send no more.
func (c crowd) pilesUp() Proof {
	if c.hidden() {
		return Proof{
			Name: "connections on which the nodes can send no more, as the tap's kernel shows them",
			Role: history.RoleEffect, Want: history.WantGrows, Unit: "connections",
			Read: func(context.Context) history.Sample {
				n, err := c.shut()
				s := sampleOf(err)
				s.Value = float64(n)
				return s
			},
		}
	}
	return Proof{
		Name: "what waits in the nodes' kernels for these clients",
		Role: history.RoleEffect, Want: history.WantSlower, Margin: piled, Unit: "bytes",
		Read: c.waiting(),
	}
}

// waiting reads the least that waits in a while. It reads what waited last in connections
// that have all ended: a broker may end those of slow clients, and nothing waits in them
// any more.
func (c crowd) waiting() func(context.Context) history.Sample {
	var last history.Sample
	return func(ctx context.Context) history.Sample {
		waits, err := c.least(ctx)
		s := sampleOf(err)
		for _, bytes := range waits {
			s.Value += float64(bytes)
		}
		if s.OK && len(waits) == 0 && last.Value > s.Value {
			last.State = "before the node ended them all"
			return last
		}
		last = s
		return s
	}
}

// pileUpInMost is the effect on a crowd: bytes have waited in most of its connections. A client
// that is sent little, or nothing, is not read slowly.
func (c crowd) pileUpInMost() Proof {
	most := math.Ceil(mostSlowed * float64(len(c.conns)))
	if c.hidden() {
		p := c.pilesUp()
		p.Name, p.Want, p.Margin = "most of the "+p.Name, history.WantSlower, most
		return p
	}
	waited := map[tap.Connection]bool{}
	return Proof{
		Name: fmt.Sprintf("of %d connections, those in which bytes waited", len(c.conns)),
		Role: history.RoleEffect, Want: history.WantSlower, Margin: most, Unit: "connections",
		Read: func(ctx context.Context) history.Sample {
			waits, err := c.least(ctx)
			for conn, bytes := range waits {
				if bytes >= inTransit {
					waited[conn] = true
				}
			}
			s := sampleOf(err)
			s.Value = float64(len(waited))
			return s
		},
	}
}

const (
	piled      = 4096 // bytes that must wait in all: less may be a message on its way
	inTransit  = 1024 // bytes in one connection that may be on their way
	mostSlowed = 0.5  // share of the connections
)

// least returns the least that waits for a while in each connection, while it stays open. Bytes
// on their way are gone the next moment.
func (c crowd) least(ctx context.Context) (least map[tap.Connection]int64, err error) {
	const looks, apart = 5, 20 * time.Millisecond
	for i := range looks {
		if i > 0 {
			select {
			case <-ctx.Done():
				return least, nil
			case <-time.After(apart):
			}
		}
		waits, err := c.look(ctx)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			least = waits
		}
		for conn, was := range least {
			if is, open := waits[conn]; open {
				least[conn] = min(was, is)
			} else {
				delete(least, conn)
			}
		}
	}
	return least, nil
}

func slowReader() Kind {
	k := connectionKind("slow_reader",
		"the broker's bytes are read at bytes_per_s, so that the rest waits in the broker; it needs traffic to fill the buffers between",
		[]Param{{Name: "bytes_per_s", Default: 1000.0, Min: 1, Max: 1e9, Doc: "of each connection"}},
		func(p Params) (Fault, error) { return SlowReader{p.number("bytes_per_s")}, nil })
	k.Example.Target, k.Example.Params["duration_s"] = history.TargetSubscribers, 8.0
	k.Draw = Draw{
		Suits: func(s Setting) bool { return !s.Registers }, // their readers do not stay long enough
		Roles: func(Setting) []string { return []string{history.TargetSubscribers} },
	}
	return k
}
