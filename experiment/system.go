package experiment

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
)

// The stage is the system of the load.

func (s *stage) credentials() (user, password string) { return s.cluster.Credentials() }
func (s *stage) ca() string                           { return s.cluster.CA() }
func (s *stage) lost() bool                           { return s.gone.Load() }
func (s *stage) width() int                           { return len(s.cluster.Nodes()) }

func (s *stage) greet(ctx context.Context, protocol, transport, address string) (string, error) {
	return s.cluster.Greet(ctx, protocol, transport, address)
}

func (s *stage) stored(ctx context.Context, node int, topic string) (int64, error) {
	return s.cluster.Stored(ctx, s.cluster.Nodes()[node], topic)
}

func (s *stage) unreleased(processes []int32) int {
	if s.tap == nil {
		return 0
	}
	return s.tap.wire.unreleased(processes)
}

func (s *stage) drive(ctx context.Context, name string, cmd clients.Program, spec contract.Spec) (driver, error) {
	place, err := s.place(ctx, name, cmd)
	if err != nil {
		return nil, fmt.Errorf("make a host for %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(s.logDir(), "driver-"+name+".log"))
	if err != nil {
		return nil, err
	}
	d, err := clients.Start(context.WithoutCancel(ctx), clients.Options{ // a stopped run still drains
		Place: place, Command: cmd, Spec: spec, Recorder: s.rec, Clock: s.shared,
		Node: s.nodeOf, Stderr: log, OnError: func(err error) { s.driverLost(name, err) },
	})
	if err != nil {
		log.Close()
		return nil, err
	}
	_, inPod := place.(podPlace)
	if !inPod {
		s.here.Add(1)
	}
	go func() {
		<-d.Done()
		if !inPod {
			s.here.Add(-1)
		}
		log.Close()
	}()
	return d, nil
}

// driverLost ends a scenario if a driver ended by no doing of its SDK, of the broker, or of ours.
func (s *stage) driverLost(name string, err error) {
	if lost := (*clients.Lost)(nil); errors.As(err, &lost) {
		s.harness("%s: %v", name, err)
		s.abandon()
	}
}

// podded reports whether drivers run in pods, beside nodes that are pods: no tap of this machine is between
// them.
func (s *stage) podded() bool {
	return s.cluster != nil && s.cluster.DriverPods() != nil && s.tap == nil
}

// place finds a place for a driver: a pod, if the driver is part of this program, or this machine.
func (s *stage) place(ctx context.Context, name string, cmd clients.Program) (clients.Place, error) {
	if s.podded() && cmd.SDK.Builtin {
		return podPlace{ctx, s.cluster.DriverPods(), s.routing.remote, name}, nil
	}
	host, err := s.network.Host(name)
	return clients.Here(host), err
}

type podPlace struct {
	ctx  context.Context
	pods *cluster.DriverPods
	net  *router.Remote
	name string
}

func (p podPlace) Start(cmd *exec.Cmd, in, out *os.File) (clients.Process, error) {
	d, err := p.pods.Start(p.ctx, p.name, cmd, in, out)
	if err != nil {
		return nil, err
	}
	if err := p.net.Join(p.ctx); err != nil {
		_ = d.Kill()
		_ = d.Wait()
		return nil, fmt.Errorf("show the faults of the network at %s: %w", p.name, err)
	}
	return d, nil
}
