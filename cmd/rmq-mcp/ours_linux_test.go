package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/hosttest"
	"github.com/robustmq/rmq-mcp/reports"
)

// TestOursIsNotTheBrokers kills and stops processes of ours in the phases of a run:
// whatever the broker and the client library do then is not held against them, nor
// is it a pass. The command ends, and nothing is left.
func TestOursIsNotTheBrokers(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
	if !canMount(nil) {
		hosttest.Skip(t, "no file systems of our own here")
	}
	type end struct {
		role, phase string
		stop        bool
		says        string // in the report
	}
	const some = 5 // of them, but where RMQ_KILL_ROUNDS asks for more
	ends := []end{
		{"disk", history.PhaseFault, false, "the disk layer of node-1"},
		{"disk", history.PhaseSteady, true, "the disk layer of node-1"},
		{"disk", history.PhaseDrain, false, "the disk layer of node-1"},
		{"witness", history.PhaseSteady, false, "the witness"},
		{"driver", history.PhaseSteady, false, "signal: killed"},
		{"disk", history.PhaseSteady, false, "the disk layer of node-1"},
		{"disk", history.PhaseRecovery, false, "the disk layer of node-1"},
		{"disk", history.PhaseFault, true, "the disk layer of node-1"},
		{"driver", history.PhaseFault, false, "signal: killed"},
		{"driver", history.PhaseSteady, true, "bye"},
	}
	if killsPerKind() == defaultRounds {
		ends = ends[:some]
	}
	for _, c := range ends {
		how := "killed"
		if c.stop {
			how = "stopped"
		}
		t.Run(fmt.Sprintf("%s %s in %s", c.role, how, c.phase), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, false)
			needNamespaces(t, l)
			out, err := os.Create(filepath.Join(l.base, "run.out"))
			if err != nil {
				t.Fatal(err)
			}
			defer out.Close()
			cmd := l.command("run", filepath.Join(l.base, "disk.md"), "--no-repeat")
			cmd.Stdout, cmd.Stderr = out, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { l.kill(l.processes()) }()
			printed := func() string {
				text, _ := os.ReadFile(out.Name())
				return string(text)
			}
			if err := await(endBound, func() string {
				if !strings.Contains(printed(), " s "+c.phase+" ") {
					return "phase " + c.phase + " has not begun: " + printed()
				}
				return ""
			}); err != nil {
				t.Fatal(err)
			}
			ours := l.processes(c.role)
			if len(ours) == 0 {
				t.Fatalf("no process is the %s among %v", c.role, l.processes())
			}
			if c.stop {
				l.stop(ours[:1])
			} else {
				l.kill(ours[:1])
			}
			err = cmd.Wait()
			code := exitCode(err)
			rows, err := l.list()
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d runs are listed: %v\n%s", len(rows), err, printed())
			}
			summary, err := reports.ReadSummary(filepath.Join(l.dir, "runs", rows[0].ID))
			if err != nil {
				t.Fatalf("%v\n%s", err, printed())
			}
			v := summary.Verdict
			if !strings.HasPrefix(string(v.State), "INCONCLUSIVE") || code < exitUndecided {
				t.Errorf("%s, exit %d: %q\n%s", v.State, code, v.Reasons, printed())
			}
			if !slices.ContainsFunc(v.Reasons, func(why string) bool { return strings.Contains(why, c.says) }) {
				t.Errorf("no reason says %q: %q", c.says, v.Reasons)
			}
			if err := await(leftBound, func() string { return l.left() + l.noted() }); err != nil {
				t.Errorf("left: %v", err)
			}
			t.Log(v.Headline)
		})
	}
}
