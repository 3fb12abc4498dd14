package conformance

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/robustmq/rmq-mcp/cluster"
	embedded "github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestMain makes the test binary a node of the embedded broker when it is
// started as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "node" {
		hosttest.Waiting()
		if flag.Parse(); testing.Short() { // then no cluster runs, and the tests mostly wait
			os.Exit(m.Run())
		}
		os.Exit(hosttest.Alone(m))
	}
	if err := embedded.Main(context.Background(), os.Args[2:], os.Stdout); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// startCluster starts nodes of a flavor and answers their MQTT addresses and
// their version.
func startCluster(t *testing.T, flavor string, nodes int) (addresses []string, version string) {
	t.Helper()
	if flavor == "mosquitto" {
		hosttest.Program(t, "mosquitto")
	}
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	network := cluster.NewLoopback("")
	t.Cleanup(func() { network.Close() })
	c, err := cluster.Start(t.Context(), cluster.Options{
		Config: cluster.Config{Flavor: flavor, Nodes: nodes}, Network: network, Dir: t.TempDir(), Self: []string{path, "node"}, Program: []string{path},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hosttest.Bound)
		defer cancel()
		c.Stop(ctx)
	})
	return c.Endpoints(""), c.Nodes()[0].Version()
}

// startMochi runs mochi-mqtt in this process, with a hook that may make it
// wrong.
func startMochi(t *testing.T, hook mochi.Hook) string {
	t.Helper()
	s := mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	for _, h := range []mochi.Hook{new(auth.AllowHook), hook} {
		if err := s.AddHook(h, nil); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	switch h := hook.(type) {
	case *farNode:
		h.topics = s.Topics
	case *lateRetainer:
		h.topics = s.Topics
	case *faithless:
		h.clients, h.topics = s.Clients, s.Topics
	}
	if h, ok := hook.(*wrong); ok && h.closesNone {
		open := &unclosing{Listener: l}
		t.Cleanup(open.free)
		l = open
	}
	if err := s.AddListener(listeners.NewNet("t", l)); err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve() }()
	t.Cleanup(func() { errors.Join(s.Close(), <-served) })
	return l.Addr().String()
}

// only are the statements of these checks, in both versions.
func only(names ...string) []Statement {
	return slices.DeleteFunc(Statements(), func(s Statement) bool { return !slices.Contains(names, s.Name) })
}

// examined runs checks as the command does, but for how long it waits: so long it
// takes to see what a broker leaves out.
func examined(t *testing.T, o Options) []Result {
	t.Helper()
	o.Seed, o.Wait = 1, cmp.Or(o.Wait, 6*time.Second)
	results, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// told is a result with its packets, for who has to find out why.
func told(r Result) string {
	return fmt.Sprintf("%s %s %s: %s: %s\n%s", r.Version, r.Name, r.Cite(), r.Verdict, r.Why, strings.Join(r.Packets, "\n"))
}
