package exam

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A broker that crashes on a packet closes the connection, as it should, and is not well for it:
// Mochi 2.7.9 on a SUBSCRIBE of MQTT 5 without options (mochi-mqtt/server issue 501).
func TestBrokerThatEnds(t *testing.T) {
	hosttest.Long(t, "it installs a broker")
	report, err := Run(t.Context(), Options{
		Dir: filepath.Join(cmp.Or(os.Getenv("RMQ_TEST_CACHE"), t.TempDir()), "ended"), Cluster: cluster.Config{Flavor: "mochi", Version: "2.7.9"},
		Only: []string{"malformed/subscribe-no-options"}, Protocol: "mqtt5", Wait: Wait, Say: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Down) != 1 || !strings.Contains(report.Down[0], "node-1 exited: status 2") || !report.Violated() {
		t.Errorf("the report says %+v", report)
	}
}
