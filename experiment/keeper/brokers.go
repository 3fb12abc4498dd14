package keeper

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/robustmq/rmq-mcp/cluster"
)

// holdBrokers keeps runs of a state directory apart that use the same brokers of somebody
// else. One with faults that other runs would feel has them alone, since another run would
// hold those faults against the broker. The others share them. Brokers that another run holds
// are awaited until ctx is done: that run may heal them and end.
func holdBrokers(ctx context.Context, stateDir string, c cluster.Config, alone bool) (release func(), err error) {
	var held []*flock.Flock
	release = func() {
		for _, lock := range held {
			lock.Close()
		}
	}
	for _, broker := range brokersOf(c) {
		lock, err := holdBroker(ctx, stateDir, broker, alone)
		if err != nil {
			release()
			return nil, fmt.Errorf("use broker %s: %w", broker, err)
		}
		held = append(held, lock)
	}
	return release, nil
}

func holdBroker(ctx context.Context, stateDir, broker string, alone bool) (*flock.Flock, error) {
	lock := flock.New(filepath.Join(stateDir, "brokers", url.QueryEscape(broker)+".lock"), flock.SetPermissions(0o600))
	take := lock.TryRLockContext
	if alone {
		take = lock.TryLockContext
	}
	_, err := take(ctx, 50*time.Millisecond)
	if err == nil {
		return lock, nil
	}
	lock.Close()
	if ctx.Err() == nil {
		return nil, err
	}
	return nil, errors.New("another run uses it, and the faults of one would fail the other; wait until the other run has ended, or stop it")
}

// brokersOf names the brokers of somebody else by all that a run may know them by: a broker
// can have several listeners.
func brokersOf(c cluster.Config) (names []string) {
	for _, e := range c.Endpoints {
		if host, port, err := net.SplitHostPort(e); err == nil {
			if ip := net.ParseIP(host); host == "" || host == "localhost" || ip.Equal(net.IPv6loopback) {
				e = net.JoinHostPort("127.0.0.1", port)
			}
		}
		names = append(names, e)
	}
	kind, theirs := c.Theirs()
	for _, name := range theirs {
		names = append(names, "of "+kind+" "+name)
	}
	slices.Sort(names) // two runs take them in one order
	return slices.Compact(names)
}
