package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

const (
	forgetBound = time.Minute
	forgetAside = 16 // at once
	maxLeft     = 20 // that are named
)

// forget removes what the run's clients made at external brokers. The
// outcome is reported and noted in the journal.
func (s *stage) forget(ctx context.Context) {
	if !s.start.Cluster.Foreign() {
		return
	}
	user, password := s.cluster.Credentials()
	tables := s.rec.Tables()
	note := removeTraces(ctx, &tables, s.cluster.Endpoints(s.start.Transport), cluster.Login{User: user, Password: password, Transport: s.start.Transport})
	if note != "" {
		s.say(note)
		s.journalled(journal.KindNote, keeper.Caller{Via: "keeper"}, map[string]any{"note": note})
	}
}

// ForgetAfter is forget for a run whose keeper was killed, by its record in dir, which
// must not be sealed yet. A password is not recorded: where the broker asks for one, all
// remains and is noted. Errors are of the record.
func ForgetAfter(ctx context.Context, dir string) error {
	run := reports.Dir(dir)
	var start keeper.Start
	err := stored.ReadJSON(run.File(reports.EvidenceDir, reports.StartFile), &start)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !start.Cluster.Foreign() {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read how %s was started: %w", filepath.Base(dir), err)
	}
	tables, _, err := run.Tables()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	note := removeTraces(ctx, tables, start.Cluster.Endpoints, cluster.Login{User: start.Cluster.Username, Transport: start.Transport})
	if note == "" {
		return nil
	}
	j, err := journal.Open(run.File(reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		return fmt.Errorf("write down what was removed from the broker: %w", err)
	}
	_, err = j.Append(journal.KindNote, callRecord{keeper.Caller{Via: "guard"}, map[string]any{"note": note}})
	return errors.Join(err, j.Close())
}

// removeTraces removes the sessions of a run's clients and their retained messages from
// brokers. It returns a note with their number, and with that of the mailboxes, which end by
// themselves; "" if there are none. On all other brokers the data end with the run.
func removeTraces(ctx context.Context, tables *history.Tables, addresses []string, as cluster.Login) string {
	ctx, cancel := context.WithTimeout(ctx, forgetBound)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(forgetAside)
	var mu sync.Mutex
	var left []error
	done := 0
	// One address after the other: in a cluster the second connection of a client ends its first.
	remove := func(one func(address string) error) {
		group.Go(func() error {
			for _, address := range addresses {
				err := one(address)
				mu.Lock()
				if done++; err != nil {
					left = append(left, err)
				}
				mu.Unlock()
			}
			return nil
		})
	}
	for _, p := range tables.Processes {
		if p.Protocol != contract.MQ9 && !p.Clean {
			remove(func(at string) error { return as.Forget(ctx, p.Protocol, at, p.ClientID) })
		}
	}
	topics := map[string]bool{}
	for _, s := range tables.Streams {
		protocol := tables.Processes[s.Producer].Protocol
		if s.Retain && !topics[s.Topic] {
			topics[s.Topic] = true
			remove(func(at string) error { return as.Unretain(ctx, protocol, at, s.Topic) })
		}
	}
	group.Wait()
	var notes []string
	switch {
	case len(left) > 0:
		notes = append(notes, fmt.Sprintf("%d of %d sessions and retained messages of this run remain at the broker: %v", len(left), done, errors.Join(left[:min(len(left), maxLeft)]...)))
	case done > 0:
		notes = append(notes, fmt.Sprintf("%d sessions and retained messages of this run were removed from the broker", done))
	}
	if boxes := mailboxesIn(tables); len(boxes) > 0 {
		notes = append(notes, fmt.Sprintf("%d mailboxes of this run remain at the broker until they expire, within %d hours of its start: %s", len(boxes), foreignMailboxS/3600, strings.Join(boxes[:min(len(boxes), maxLeft)], ", ")))
	}
	return strings.Join(notes, "; ")
}

// mailboxesIn lists the mailboxes that the clients of a run made, in alphabetical order.
func mailboxesIn(tables *history.Tables) (list []string) {
	for _, p := range tables.Processes {
		for _, f := range p.Filters {
			if p.Protocol == contract.MQ9 {
				_, mailbox := contract.CutGroup(f.Filter, "")
				list = append(list, mailbox)
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}
