package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A node that ends by itself fails the run. A node that somebody else kills
// makes it inconclusive about the broker, whatever else is going on.
func TestNodesThatEnd(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	const killed, aborted = syscall.SIGKILL, syscall.SIGABRT
	for _, test := range []struct {
		scenario, phase string
		signal          syscall.Signal
		want            verdict.State
		says            string
	}{
		{"three-nodes.md", history.PhaseSteady, aborted, verdict.FailOnce, "node-1 ended by itself (status 2)"},
		{"three-nodes.md", history.PhaseFault, killed, verdict.InconclusiveEnv, "node-1 ended (signal 9) by no fault of this run"},
		{"three-nodes.md", history.PhaseRecovery, killed, verdict.InconclusiveEnv, "node-1 ended (signal 9) by no fault of this run"},
	} {
		t.Run(fmt.Sprintf("%s %s %s", test.scenario, test.phase, test.signal), func(t *testing.T) {
			t.Parallel() // they wait for what does not come back
			l := newLab(t, nil, false)
			cmd := l.command("run", filepath.Join(l.base, test.scenario), "--json", "--seed", "1", "--no-repeat")
			var out bytes.Buffer
			cmd.Stdout = &out
			progress, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { l.kill(l.processes()) })
			ended := false
			for lines := bufio.NewScanner(progress); lines.Scan(); {
				if !ended && strings.Contains(lines.Text(), test.phase) {
					ended = true
					l.end(t, "node-1", test.signal)
				}
			}
			cmd.Wait() // its status is the verdict's
			var r reports.Report
			if err := json.Unmarshal(out.Bytes(), &r); err != nil {
				t.Fatalf("%v: %s", err, out.Bytes())
			}
			if !ended || r.Verdict.State != test.want {
				t.Errorf("%s: %s %q", r.Verdict.State, r.Verdict.Headline, r.Verdict.Reasons)
			}
			if said := strings.Join(append(r.Verdict.Reasons, r.Verdict.Headline), "\n"); !strings.Contains(said, test.says) {
				t.Errorf("it does not say %q: %s", test.says, said)
			}
		})
	}
}

// end sends a signal to the process of a node.
func (l *lab) end(t *testing.T, node string, signal syscall.Signal) {
	t.Helper()
	all := l.processes("node")
	i := slices.IndexFunc(all, func(p proc) bool { return strings.Contains(p.id, node) })
	if i < 0 {
		t.Fatalf("no process is %s's: %v", node, all)
	}
	if err := syscall.Kill(all[i].pid, signal); err != nil {
		t.Fatal(err)
	}
}
