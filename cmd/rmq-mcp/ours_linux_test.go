package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
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
		until       string // the phase in which it goes on; "" for never
	}
	says := map[string]string{"disk": "the disk layer of node-1", "witness": "the witness", "driver": "signal: killed"}
	ends := []end{
		{"disk", history.PhaseFault, false, ""}, {"disk", history.PhaseSteady, true, ""}, {"disk", history.PhaseDrain, false, ""},
		{"witness", history.PhaseSteady, true, ""}, {"driver", history.PhaseSteady, false, ""},
		{"driver", history.PhaseFault, true, history.PhaseDrain},
	}
	if killsPerKind() > defaultRounds {
		ends = nil
		for role := range says {
			for _, phase := range []string{history.PhaseSteady, history.PhaseFault, history.PhaseRecovery, history.PhaseDrain} {
				if role == "driver" && phase == history.PhaseDrain {
					continue // it has ended by then
				}
				ends = append(ends, end{role, phase, false, ""}, end{role, phase, true, ""})
				if role == "driver" {
					ends = append(ends, end{role, phase, true, history.PhaseDrain})
				}
			}
		}
	}
	for _, c := range ends {
		how := "killed"
		if c.stop {
			how = "stopped"
		}
		if c.until != "" {
			how = "stopped until " + c.until
		}
		t.Run(fmt.Sprintf("%s %s in %s", c.role, how, c.phase), func(t *testing.T) {
			t.Parallel()
			l := newLab(t, nil, false)
			needNamespaces(t, l)
			cmd, printed := l.run(t, c.phase, filepath.Join(l.base, "disk.md"))
			ours := l.processes(c.role)
			if len(ours) == 0 {
				t.Fatalf("no process is the %s among %v", c.role, l.processes())
			}
			switch {
			case c.until != "": // all, so that nobody publishes meanwhile
				l.stop(ours)
				awaitPhase(t, c.until, printed)
				l.signal(ours, syscall.SIGCONT)
			case c.stop:
				l.stop(ours[:1])
			default:
				l.kill(ours[:1])
			}
			err := cmd.Wait()
			code := exitCode(err)
			rows, err := l.list()
			if err != nil || len(rows) != 1 {
				t.Fatalf("%d runs are listed: %v\n%s", len(rows), err, printed())
			}
			summary, err := reports.Dir(filepath.Join(l.dir, "runs", rows[0].ID)).Summary()
			if err != nil {
				t.Fatalf("%v\n%s", err, printed())
			}
			v := summary.Verdict
			if !strings.HasPrefix(string(v.State), "INCONCLUSIVE") || code < exitUndecided {
				t.Errorf("%s, exit %d: %q\n%s", v.State, code, v.Reasons, printed())
			}
			reason := says[c.role]
			if c.role == "driver" {
				if c.stop {
					reason = "stood still from"
				}
				if !strings.Contains(v.Headline, reason) {
					t.Errorf("the headline does not say %q: %q", reason, v.Headline)
				}
			}
			if !slices.ContainsFunc(v.Reasons, func(why string) bool { return strings.Contains(why, reason) }) {
				t.Errorf("no reason says %q: %q", reason, v.Reasons)
			}
			if err := await(leftBound, func() string { return l.left() + l.noted() }); err != nil {
				t.Errorf("left: %v", err)
			}
			t.Log(v.Headline)
		})
	}
}
