package cluster

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestBrokers holds the documents that come with the program: each broker that a registry
// has is installed, started, killed, started again and stopped.
func TestBrokers(t *testing.T) {
	hosttest.Long(t, "it installs brokers")
	t.Setenv("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0") // cargo compiles one of them for 24 minutes otherwise
	cache := filepath.Join(cmp.Or(os.Getenv("RMQ_TEST_CACHE"), t.TempDir()), "brokers")
	for _, broker := range []string{"aedes 1.2.0", "amqtt 0.11.4", "artemis 2.55.0", "hivemq-ce 2025.5", "mochi 2.7.9", "moquette 0.17", "mqttv5 0.29.6", "nats-server 2.15.1", "rmqtt 0.24.0"} {
		name, version, _ := strings.Cut(broker, " ")
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute) // cargo compiles one for most of it
			defer cancel()
			program, err := FlavorNamed(name).Document.Package.Install(ctx, filepath.Join(cache, name), version, func(line string) { t.Log(line) })
			if err != nil {
				t.Fatal(err)
			}
			ctx, c := startCluster(t, Config{Flavor: name, Version: version, Binary: program, Nodes: 1})
			if c.Info().Version != broker {
				t.Errorf("it is %s, want %s", c.Info().Version, broker)
			}
			n := c.Nodes()[0]
			set(t, ctx, n, "killed")
			wantState(t, n, history.StateKilled)
			set(t, ctx, n, "running")
			set(t, ctx, n, "stopped")
		})
	}
	for _, f := range shipped() {
		if !f.Versions {
			t.Errorf("%s has no package, and nothing holds its document", f.Name)
		}
	}
}
