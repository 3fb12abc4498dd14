package experiment

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
)

// maxDrivers bounds the drivers of one side of a workload.
const maxDrivers = 32

// A fleet is several drivers with the clients of one side of a workload: client number i of the side is
// in driver i mod n.
type fleet struct {
	drivers []driver
	of      map[int32]driver // by process
	done    chan struct{}
}

// split are the specifications of n drivers.
func split(spec contract.Spec, n int) []contract.Spec {
	parts := make([]contract.Spec, n)
	for i := range parts {
		parts[i] = spec
		parts[i].Clients = nil
		for k := i; k < len(spec.Clients); k += n {
			parts[i].Clients = append(parts[i].Clients, spec.Clients[k])
		}
	}
	return parts
}

// muster starts the drivers of one side of a workload, all or none of them.
func (l *load) muster(ctx context.Context, name string, cmd clients.Program, spec contract.Spec) (side, error) {
	n := min(l.start.Drivers, len(spec.Clients))
	if n < 2 {
		return l.drive(ctx, name, cmd, spec)
	}
	f := &fleet{drivers: make([]driver, n), of: map[int32]driver{}, done: make(chan struct{})}
	parts := split(spec, n)
	var group errgroup.Group
	for i, part := range parts {
		group.Go(func() (err error) {
			f.drivers[i], err = l.drive(ctx, fmt.Sprintf("%s-%d", name, i), cmd, part)
			return err
		})
	}
	err := group.Wait()
	for i, d := range f.drivers {
		switch {
		case d == nil:
		case err != nil:
			d.Close()
			<-d.Done()
		default:
			for _, c := range parts[i].Clients {
				f.of[c.Process] = d
			}
		}
	}
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(f.done)
		for _, d := range f.drivers {
			<-d.Done()
		}
	}()
	return f, nil
}

// each calls a function with every driver that no fault has killed.
func (f *fleet) each(do func(driver) error) (err error) {
	for _, d := range f.drivers {
		if !d.Shot() {
			err = errors.Join(err, do(d))
		}
	}
	return err
}

// Do tells the driver of a process, or all of them.
func (f *fleet) Do(c contract.Command) error {
	if c.Process == contract.All {
		return f.each(func(d driver) error { return d.Do(c) })
	}
	if d := f.of[c.Process]; !d.Shot() {
		return d.Do(c)
	}
	return nil
}

// Done is closed when all of them are done.
func (f *fleet) Done() <-chan struct{} { return f.done }

// Err is what went wrong in drivers that no fault has killed.
func (f *fleet) Err() error { return f.each(driver.Err) }

// Close kills those that still run.
func (f *fleet) Close() error { return f.each(driver.Close) }

// Shot reports whether a fault killed all of them.
func (f *fleet) Shot() bool {
	for _, d := range f.drivers {
		if !d.Shot() {
			return false
		}
	}
	return true
}
