package faults

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// Queues treat the packets that rules of the router queue, each by its number.
type Queues interface {
	Treat(queue uint16, t netqueue.Treatment) error
	// Release lets all packets pass, the held ones at once. It may be called
	// again.
	Release(queue uint16) error
	// Counts are zero where a queue is not treated.
	Counts(queue uint16) (netqueue.Counts, error)
}

// layerQueue is what treats the packets of one queue: queue/7. Its entries'
// Want is a [netqueue.Action], Args a [netqueue.Treatment].
// It is opened before the rule that queues is there, and while it is not, the
// rule lets pass.
const layerQueue = "queue"

func queueEntry(n uint16, t netqueue.Treatment) Entry {
	return Entry{Layer: fmt.Sprintf("%s/%d", layerQueue, n), Want: string(t.Do), Args: t}
}

type queueLayer struct {
	queues Queues
	number uint16
}

// NewQueueLayer is the layer queue/number.
func NewQueueLayer(queues Queues, number string) (Layer, error) {
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return nil, fmt.Errorf("queue %q: it is no number: %w", number, err)
	}
	return queueLayer{queues, uint16(n)}, nil
}

// Render treats the packets as the last entry says. A queue is one fault's, so
// there is one at most.
func (l queueLayer) Render(_ context.Context, active []Entry) error {
	if len(active) == 0 {
		return l.queues.Release(l.number)
	}
	e := active[len(active)-1]
	t, err := argsOf[netqueue.Treatment](e)
	if err != nil {
		return err
	}
	t.Do = netqueue.Action(e.Want)
	return l.queues.Treat(l.number, t)
}

// A treated is a fault that queues packets of some links.
type treated struct {
	*Injection
	net    Net
	queues Queues
	number uint16
	pairs  []pair
}

// treat plans to queue what passes on these links.
func (t Target) treat(how netqueue.Treatment, links []router.Link) (*treated, error) {
	net, err := t.router(router.Queue)
	if err != nil {
		return nil, err
	}
	if t.Site.Queues == nil {
		return nil, fmt.Errorf("%w: packets are treated one by one only if each node has a network of its own, and these do not", ErrUnsupported)
	}
	if err := errors.Join(how.Check(), t.lacks(how)); err != nil {
		return nil, err
	}
	out := &treated{Injection: &Injection{Mechanism: t.by("nfqueue")}, net: net, queues: t.Site.Queues}
	if out.pairs, err = t.alone(net, links); err != nil {
		return nil, err
	}
	if out.number, err = net.Queue(); err != nil {
		return nil, err
	}
	out.Entries = []Entry{netEntry(router.Rule{Do: router.Queue, Links: links, Queue: out.number}), queueEntry(out.number, how)}
	out.First = func(context.Context) error { return out.queues.Treat(out.number, how) }
	out.Proofs = out.hits(t, how.Do)
	return out, nil
}

// prove adds, for each direction, an effect and what is read back of it after the
// heal, and the controls, the queue's own among them. It answers the injection.
func (t *treated) prove(target Target, effect func(pair) Proof, over func(pair) Check) *Injection {
	for _, p := range unharmed(t.net, t.pairs) {
		t.Proofs = append(t.Proofs, effect(p))
	}
	if target.Site.Injector == nil {
		t.Proofs = append(t.Proofs, t.kept())
		t.Healed = append(t.Healed, t.released())
	}
	t.Proofs = append(t.Proofs, target.others(t.net, 0)...)
	t.Healed = append(t.Healed, target.passAgain(t.net, t.Injection, t.pairs)...)
	for _, p := range t.pairs {
		t.Healed = append(t.Healed, over(p))
	}
	return t.Injection
}

// proveShare is that of a fault that hits some percent of the packets.
func (t *treated) proveShare(target Target, seen share) *Injection {
	return t.prove(target,
		func(p pair) Proof { return seen.proof(t.net, t.Injection, p) },
		func(p pair) Check { return seen.none(t.net, t.Injection, p) })
}

// hits are the mechanism's proofs: the packets of the system itself that were
// treated, of every node that the fault is about. Probes are counted apart.
func (t *treated) hits(target Target, do netqueue.Action) []Proof {
	if target.Site.Injector != nil {
		return target.injected(t.pairs, t.Injection)
	}
	return target.counted(t.net, t.pairs, "packets of the system, "+string(do)+" by the queue", "packets", func() (uint64, map[netip.Addr]uint64, error) {
		c, err := t.queues.Counts(t.number)
		return c.Hit, c.Ends, err
	})
}

// kept is a control: the queue itself drops nothing. Where more is held than
// the kernel keeps, the fault is another one than was asked for.
func (t *treated) kept() Proof {
	return Proof{
		Name: "packets that the queue had no room for",
		Role: history.RoleControl, Want: history.WantStill, Unit: "packets",
		Read: func(context.Context) history.Sample {
			c, err := t.queues.Counts(t.number)
			if err == nil && c.Overflown > 0 {
				err = fmt.Errorf("%d packets were dropped: the queue was full; ask for less delay, or less load", c.Overflown)
			}
			return value(float64(c.Overflown), err)
		},
	}
}

// released reads back that nothing is held any more.
func (t *treated) released() Check {
	return unnumbered(fmt.Sprintf("queue %d", t.number), func(context.Context) error {
		c, err := t.queues.Counts(t.number)
		if err == nil && c.Treated {
			err = errors.New("its packets are still treated")
		}
		return err
	})
}

// packetSeed is the parameter of faults that hit some packets by chance.
func packetSeed() Param {
	seed := seedParam()
	seed.Doc = "decides which packets are hit: the same seed, the same for the n-th packet"
	return seed
}
