package experiment

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
)

// A running is one driver process and the clients in it.
type running struct {
	*clients.Driver
	name  string
	specs []contract.Client
}

// Name is publishers-0, subscribers-0, …
func (r *running) Name() string { return r.name }

func (e *Experiment) drives(name string, d *clients.Driver, spec contract.Spec) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drivers = append(e.drivers, &running{d, name, spec.Clients})
}

// liveDrivers are those that still run.
func (e *Experiment) liveDrivers() []*running {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(e.drivers), func(r *running) bool {
		select {
		case <-r.Done():
			return true
		default:
			return false
		}
	})
}

// clientTarget answers the clients that run now and that a target means.
func (e *Experiment) clientTarget(asked string) ([]faults.Client, error) {
	name, _ := history.ClientTarget(asked)
	rows := e.rec.Tables().Processes
	var found []faults.Client
	var known []string
	for _, d := range e.liveDrivers() {
		for _, c := range d.specs {
			row := rows[c.Process]
			known = append(known, row.Name)
			if meant(asked, name, c.Process, row) {
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

// meant reports whether a target means a client. Clients of the harness itself
// are nobody's target but everybody's.
func meant(asked, name string, process int32, row history.Process) bool {
	switch asked {
	case history.TargetClients:
		return true
	case history.TargetPublishers:
		return row.Group == groupPublisher
	case history.TargetSubscribers:
		return row.Group != groupPublisher && row.Group != groupProbe && row.Group != groupWill
	}
	return name == row.Name || name == strconv.Itoa(int(process))
}

// driversOf are the experiment's drivers, as faults know them.
type driversOf struct{ e *Experiment }

func (c driversOf) Driver(name string) (faults.Driver, error) {
	c.e.mu.Lock()
	defer c.e.mu.Unlock()
	for _, d := range c.e.drivers {
		if d.name == name {
			return d, nil
		}
	}
	return nil, fmt.Errorf("no driver %q", name)
}

func (c driversOf) Connected(ids []string) (n int) {
	rows := c.e.rec.Tables().Processes
	l := c.e.live
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, row := range rows {
		if slices.Contains(ids, row.ClientID) && l.process(int32(i)).connected {
			n++
		}
	}
	return n
}

func (e *Experiment) driverLayer(name string) (faults.Layer, error) {
	d, err := driversOf{e}.Driver(name)
	if err != nil {
		return nil, err
	}
	return faults.NewDriverLayer(d), nil
}
