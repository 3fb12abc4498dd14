package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
)

// A running is one driver process and the clients in it.
type running struct {
	driver
	name  string
	specs []contract.Client
}

// Name is publishers-0, subscribers-0, …
func (r *running) Name() string { return r.name }

func (l *load) drives(name string, d driver, spec contract.Spec) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drivers = append(l.drivers, &running{d, name, spec.Clients})
}

// liveDrivers are those that still run.
func (l *load) liveDrivers() []*running {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(l.drivers), func(r *running) bool {
		select {
		case <-r.Done():
			return true
		default:
			return false
		}
	})
}

// clientTarget returns the clients that run now and that a target means.
func (l *load) clientTarget(asked string) ([]faults.Client, error) {
	rows := l.rec.Tables().Processes
	var found []faults.Client
	var known []string
	for _, d := range l.liveDrivers() {
		for _, c := range d.specs {
			row := rows[c.Process]
			known = append(known, row.Name)
			if history.Means(asked, c.Process, row) {
				found = append(found, faults.Client{Name: row.Name, ID: c.ClientID, Driver: d.name})
			}
		}
	}
	if len(found) == 0 {
		if len(known) == 0 {
			return nil, errors.New("no client runs now; call run_client first, or inject while a workload runs")
		}
		return nil, fmt.Errorf("no such client runs now; those that do: %s", strings.Join(known, ", "))
	}
	return found, nil
}

// Driver is a driver's process, for faults on it.
func (l *load) Driver(name string) (faults.Driver, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, d := range l.drivers {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no driver %q", name)
}

// Ended is how many connections of each client of a list have ended.
func (l *load) Ended(ids []string) map[string]int {
	rows, ended := l.rec.Tables().Processes, map[string]int{}
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	for i, row := range rows {
		if !slices.Contains(ids, row.ClientID) {
			continue
		}
		p := l.live.process(int32(i))
		n := p.connects
		if p.connected {
			n--
		}
		ended[row.ClientID] += n
	}
	return ended
}

// Connected is how many clients of a list are connected now.
func (l *load) Connected(ids []string) (n int) {
	rows := l.rec.Tables().Processes
	l.live.mu.Lock()
	defer l.live.mu.Unlock()
	for i, row := range rows {
		if slices.Contains(ids, row.ClientID) && l.live.process(int32(i)).connected {
			n++
		}
	}
	return n
}
