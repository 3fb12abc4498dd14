package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// Local is brokers on this machine's loopback, without faults and without a record. They end
// together, and their files with them.
type Local struct {
	dir      string
	argv     []string
	networks []Network
	clusters []*Cluster
}

// NewLocal makes the directory of the brokers. argv is the command line of rmq-mcp, which is the
// embedded broker.
func NewLocal(argv []string) (*Local, error) {
	dir, err := os.MkdirTemp("", "rmq-mcp-local-*")
	if err != nil {
		return nil, fmt.Errorf("make a directory for brokers: %w", err)
	}
	return &Local{dir: dir, argv: argv}, nil
}

// Start starts a cluster of one node or more, with ports of its own. A flavor is started once.
func (l *Local) Start(ctx context.Context, config Config) (*Cluster, error) {
	config.Nodes = max(config.Nodes, 1)
	network := NewLoopback("host")
	l.networks = append(l.networks, network)
	c, err := Start(ctx, Options{
		Config: config, Network: network, Dir: filepath.Join(l.dir, config.Flavor),
		Self: slices.Concat(l.argv, []string{"node"}), Program: l.argv,
	})
	if err == nil {
		l.clusters = append(l.clusters, c)
	}
	return c, err
}

// Close ends the brokers.
func (l *Local) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	for _, c := range l.clusters {
		c.Stop(ctx)
	}
	for _, n := range l.networks {
		n.Close()
	}
	os.RemoveAll(l.dir)
}
