package experiment

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
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
	host, err := s.network.Host(name)
	if err != nil {
		return nil, fmt.Errorf("make a host for %s: %w", name, err)
	}
	log, err := os.Create(filepath.Join(s.logDir(), "driver-"+name+".log"))
	if err != nil {
		return nil, err
	}
	d, err := clients.Start(context.WithoutCancel(ctx), clients.Options{ // a stopped run still drains
		Host: host, Command: cmd, Spec: spec, Recorder: s.rec, Clock: s.shared,
		Node: s.nodeOf, Stderr: log,
	})
	if err != nil {
		log.Close()
		return nil, err
	}
	go func() {
		<-d.Done()
		log.Close()
	}()
	return d, nil
}
