package scenarios

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/journal"
	"github.com/robustmq/rmq-mcp/internal/keeper"
)

const (
	forgetBound = time.Minute
	forgetAside = 16 // at once
	maxLeft     = 20 // that are named
)

// forget removes what the run's clients made at brokers that somebody else runs: their
// sessions, and what they published to be retained. Of all others the data end with
// the run. What remains is said and noted in the journal.
func (e *Experiment) forget(ctx context.Context) {
	if e.start.Cluster.Flavor != "external" || !e.ready.Load() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(forgetAside)
	var mu sync.Mutex
	var left []error
	done := 0
	remove := func(one func(address string) error) {
		for _, address := range e.cluster.Endpoints(e.start.Transport) {
			group.Go(func() error {
				err := one(address)
				mu.Lock()
				defer mu.Unlock()
				if done++; err != nil {
					left = append(left, err)
				}
				return nil
			})
		}
	}
	tables := e.rec.Tables()
	for _, p := range tables.Processes {
		if p.Protocol != contract.MQ9 && !p.Clean {
			remove(func(at string) error { return e.cluster.Forget(ctx, p.Protocol, e.start.Transport, at, p.ClientID) })
		}
	}
	topics := map[string]bool{}
	for _, s := range tables.Streams {
		protocol := tables.Processes[s.Producer].Protocol
		if s.Retain && !topics[s.Topic] {
			topics[s.Topic] = true
			remove(func(at string) error { return e.cluster.Unretain(ctx, protocol, e.start.Transport, at, s.Topic) })
		}
	}
	group.Wait()
	note := fmt.Sprintf("%d sessions and retained messages of this run were removed from the broker", done-len(left))
	if len(left) > 0 {
		note = fmt.Sprintf("%d of %d sessions and retained messages of this run remain at the broker: %v", len(left), done, errors.Join(left[:min(len(left), maxLeft)]...))
	}
	if done > 0 {
		e.say(note)
		e.journalled(journal.KindNote, keeper.Caller{Via: "keeper"}, map[string]any{"note": note})
	}
}
