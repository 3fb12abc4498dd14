package faults

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
	"github.com/robustmq/rmq-mcp/internal/mechanism/hostile"
	"github.com/robustmq/rmq-mcp/internal/mechanism/kube"
	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// Arguments are the same after their way through a journal.
func TestArgs(t *testing.T) {
	const seed = 1 << 50
	links := []router.Link{{From: []string{"node-1"}, To: []string{router.Clients}}}
	journalled(t, router.Rule{Percent: 12.5, Ports: []uint16{1883}, Links: links})
	journalled(t, tap.Rule{Topic: "a/#", Nth: 3, Seed: seed, Nodes: []string{"node-1"}})
	journalled(t, netqueue.Treatment{Percent: 5, Seed: seed})
	journalled(t, hostile.Rule{Do: hostile.Talk, Seed: seed, Step: 1})
	journalled(t, shape{Links: links, RateBytes: seed})
	journalled(t, routeArgs{Peers: []string{"node-2"}})
	journalled(t, diskArgs{mounted: mounted{"/m", 40}, Limit: disk.Limit{Bytes: 7}})
	journalled(t, diskArgs{Rule: disk.Rule{Path: "*.log", Errno: "EIO"}})
	journalled(t, limitArgs{group: group{Dir: "/sys/fs/cgroup/x"}, Percent: 20})
	journalled(t, filesArgs{Limit: 20, Had: seed, Process: 7, Spare: 3})
	journalled(t, clockArgs{OffsetS: -3, PeriodMS: 200})
	journalled(t, launchArgs{Settings: map[string]any{"a": "b"}})
	journalled(t, docker.Made{Engine: "unix:///d", Run: "r1"})
	journalled(t, kube.Made{Target: kube.Target{Files: []string{"/k"}, Context: "c"}, Run: "r1"})
	// An undo reads the entries of other versions by what it needs alone.
	older := Entry{Args: map[string]any{"dir": "/sys/fs/cgroup/x", "back": "/", "tasks": "many"}}
	if g, err := argsOf[group](older); err != nil || g != (group{"/sys/fs/cgroup/x", "/"}) {
		t.Errorf("the group of an older entry: %+v, %v", g, err)
	}
	if args, err := argsOf[limitArgs](Entry{}); err != nil || args != (limitArgs{}) {
		t.Errorf("no arguments: %+v, %v", args, err)
	}
	if _, err := argsOf[limitArgs](Entry{Fault: "f1", Layer: "limits/node-1", Args: map[string]any{"tasks": "many"}}); err == nil {
		t.Error("a word was taken for a number")
	}
}

var exported = cmp.Exporter(func(reflect.Type) bool { return true })

func journalled[T any](t *testing.T, args T) {
	t.Helper()
	e := Entry{Fault: "f1", Layer: "net", Args: args}
	direct, err := argsOf[T](e)
	if diff := cmp.Diff(args, direct, exported); err != nil || diff != "" {
		t.Errorf("planned: %v\n%s", err, diff)
	}
	line, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var read Entry
	if err := json.Unmarshal(line, &read); err != nil {
		t.Fatal(err)
	}
	got, err := argsOf[T](read)
	if diff := cmp.Diff(args, got, exported); err != nil || diff != "" {
		t.Errorf("read from %s: %v\n%s", line, err, diff)
	}
}
