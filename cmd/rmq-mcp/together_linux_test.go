package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestTogether has two servers and two terminals use one state directory at
// the same time: each has its own experiment, and sees the others'.
func TestTogether(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	t.Parallel()
	l := newLab(t, nil, false)
	t.Cleanup(func() { l.kill(l.processes()) })
	var all sync.WaitGroup
	for _, scenario := range []string{"no-fault.md", "one-node.md"} {
		all.Go(func() {
			if out, err := l.command("run", filepath.Join(l.base, scenario)).CombinedOutput(); err != nil {
				t.Errorf("run %s: %v\n%s", scenario, err, out)
			}
		})
	}
	started, looked := newMeeting(), newMeeting()
	for i := range 2 {
		all.Go(func() {
			if err := explore(t.Context(), l, started, looked); err != nil {
				t.Errorf("server %d: %v", i+1, err)
			}
		})
	}
	all.Wait()
	if err := await(leftBound, func() string { return l.left() + l.noted() }); err != nil {
		t.Error(err)
	}
	rows, err := l.list()
	if err != nil || len(rows) != 4 {
		t.Fatalf("%d runs are listed, want 4: %+v, %v", len(rows), rows, err)
	}
	for _, row := range rows {
		if out, err := l.command("verify", row.ID).CombinedOutput(); err != nil {
			t.Errorf("verify %s: %v\n%s", row.ID, err, out)
		}
	}
}

// A meeting is where two wait for each other.
type meeting struct {
	mu   sync.Mutex
	came []string
	both chan struct{}
}

func newMeeting() *meeting { return &meeting{both: make(chan struct{})} }

// arrive answers who came, once both are there.
func (m *meeting) arrive(ctx context.Context, who string) ([]string, error) {
	m.mu.Lock()
	if m.came = append(m.came, who); len(m.came) == 2 {
		close(m.both)
	}
	m.mu.Unlock()
	select {
	case <-m.both:
		return m.came, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("%s waits for the other server: %w", who, ctx.Err())
	}
}

// explore is one server's agent: it starts a cluster, waits until the other
// one has started its own, looks at both, pauses its node, and stops.
func explore(ctx context.Context, l *lab, started, looked *meeting) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.CommandTransport{Command: l.command("serve")}, nil)
	if err != nil {
		return err
	}
	defer session.Close()
	call := func(tool string, args map[string]any) (answer struct {
		RunID   string `json:"run_id"`
		Running bool
		Nodes   []struct{ State string }
		Verdict *struct{ State string }
	}, err error) {
		result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			return answer, fmt.Errorf("%s: %w", tool, err)
		}
		if result.IsError {
			return answer, fmt.Errorf("%s: %s", tool, result.Content[0].(*mcp.TextContent).Text)
		}
		text, err := json.Marshal(result.StructuredContent)
		if err != nil {
			return answer, err
		}
		return answer, json.Unmarshal(text, &answer)
	}
	mine, err := call("cluster_start", map[string]any{"nodes": 1, "config": map[string]any{"flavor": "reference"}, "wait_s": 45})
	if err != nil {
		return err
	}
	ids, err := started.arrive(ctx, mine.RunID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		if seen, err := call("cluster_status", map[string]any{"experiment": id}); err != nil || seen.RunID != id {
			return fmt.Errorf("status of %s: %+v, %w", id, seen, err)
		}
	}
	if _, err := looked.arrive(ctx, mine.RunID); err != nil {
		return err
	}
	if _, err := call("inject_fault", map[string]any{"type": "pause", "target": "node-1", "experiment": mine.RunID, "params": map[string]any{"duration_s": 2}}); err != nil {
		return err
	}
	stopped, err := call("cluster_stop", map[string]any{"experiment": mine.RunID, "wait_s": 45})
	for err == nil && stopped.Running {
		stopped, err = call("get_run", map[string]any{"run_id": mine.RunID, "wait_s": 45})
	}
	if err == nil && (stopped.Verdict == nil || strings.HasPrefix(stopped.Verdict.State, "PASS")) {
		err = errors.New("a cluster without a client has no verdict, or passes")
	}
	return err
}
