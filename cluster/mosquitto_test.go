package cluster

import (
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestMosquitto(t *testing.T) {
	config := Config{Flavor: "mosquitto"}
	if _, _, err := check(config); err != nil {
		hosttest.Skip(t, err.Error())
	}
	ctx, c := startCluster(t, config)
	n := c.Nodes()[0]
	info := c.Info()
	if info.Differs["max_queued_messages"] != "1000 → 0" || info.Differs["persistence"] != "false → true" || len(info.Differs) != 2 {
		t.Errorf("differs from the vendor's in %v", info.Differs)
	}
	if slices.Contains(c.Promises(), history.PromiseDurability) {
		t.Error("mosquitto does not promise to keep messages when it is killed")
	}
	if len(info.BinarySHA) != 64 || !strings.HasPrefix(info.Version, "mosquitto ") {
		t.Errorf("info is %+v", info)
	}
	checkFigures(t, ctx, n, "process_memory_bytes")
	set(t, ctx, n, "killed")
	wantState(t, n, history.StateKilled)
	set(t, ctx, n, "running")
	set(t, ctx, n, "stopped")
	wantState(t, n, "exited: status 0")
}
