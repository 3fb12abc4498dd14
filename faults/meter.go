package faults

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// A meter reads a counter of the kernel that our own probes move as well. It
// subtracts every increase while probes were under way: a limit has not landed
// if only a probe ran into it.
type meter struct {
	count func() (int64, error)

	mu      sync.Mutex
	probes  int   // under way
	since   int64 // the counter when the first of them began
	byProbe int64 // what it moved during earlier ones
	from    time.Time
	probed  time.Duration // that earlier ones took
}

// read is the counter without the probes' part.
func (m *meter) read() (float64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now, err := m.count()
	if m.probes > 0 {
		now = m.since
	}
	return float64(max(now-m.byProbe, 0)), err
}

// probing runs a probe.
func (m *meter) probing(probe func()) {
	m.begin()
	defer m.end()
	probe()
}

func (m *meter) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probes++; m.probes == 1 {
		m.since, _ = m.count()
		m.from = time.Now()
	}
}

func (m *meter) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probes--; m.probes > 0 {
		return
	}
	m.probed += time.Since(m.from)
	if now, err := m.count(); err == nil {
		m.byProbe += now - m.since
	}
}

// probingTime is what probes took so far, which a share of time must leave out as the counter does.
func (m *meter) probingTime() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.probes > 0 {
		return m.probed + time.Since(m.from)
	}
	return m.probed
}

// grows is the mechanism's counter.
func (m *meter) grows(n Node, name, unit string) Proof {
	return Proof{
		Name: name + " " + n.Name(), Node: n.Name(),
		Role: history.RoleMechanism, Want: history.WantGrows, Unit: unit,
		Read: func(context.Context) history.Sample {
			v, err := m.read()
			if err != nil {
				return failed(err)
			}
			return history.Sample{OK: true, Value: v}
		},
	}
}

// slowMargin is by how much more than before a new client waits for a node that lacks
// something, beside one of the witness that comes at once after it. On a host that is busy
// both wait.
const slowMargin = 10 * time.Millisecond

// A process that has a share of each period, such as 100 ms of processor time, serves
// whoever comes at the right moment: clients come apart, by no part of a period.
const (
	clientsProbed = 5
	clientsApart  = 37 * time.Millisecond
)

// slower is the effect: new clients wait longer than those of the witness, all but one of a
// few of them. One that gives up counts with the time until it did.
func (m *meter) slower(n, witness Node) Proof {
	return Proof{
		Name: "new clients of " + n.Name() + ", beside those of " + witness.Name(), Node: n.Name(),
		Role: history.RoleEffect, Want: history.WantSlowed, // a node that has nothing to do any more is quick again
		Margin: float64(slowMargin.Milliseconds()), Unit: "ms",
		Read: func(ctx context.Context) history.Sample {
			return allButOne(ctx, clientsProbed, func() (s history.Sample) {
				m.probing(func() { s = readProbe(ctx, n) })
				if s.OK {
					s.Value -= readProbe(ctx, witness).Value
				}
				return s
			})
		},
	}
}

// allButOne is what all but the slowest of a few probes took at most, or one where
// the node does not answer.
func allButOne(ctx context.Context, times int, probe func() history.Sample) history.Sample {
	var all []history.Sample
	for i := range times {
		if i > 0 {
			select {
			case <-ctx.Done():
			case <-time.After(clientsApart):
			}
		}
		s := probe()
		if !s.OK && ctx.Err() != nil && len(all) > 0 {
			break // its patience ended before the probe's
		}
		if !s.OK {
			return gaveUp(s)
		}
		all = append(all, s)
	}
	slices.SortStableFunc(all, func(a, b history.Sample) int { return cmp.Compare(a.Value, b.Value) })
	return all[max(0, len(all)-2)]
}

// gaveUp is a probe that waited in vain: that is slow. One that failed at once
// was refused, and says nothing about speed.
func gaveUp(s history.Sample) history.Sample {
	if s.Value >= float64(time.Second.Milliseconds()) {
		s.OK, s.State = true, "no answer: "+s.Error
	}
	return s
}
