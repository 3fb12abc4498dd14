package series

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// stored is a failed run of the track record, as if it was just made.
func stored(t *testing.T) *reports.Summary {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join("..", "..", "docs", "track-record", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range runs {
		s, err := reports.Dir(dir).Summary()
		if err == nil && s.Verdict.State.Failed() && s.Verdict.Severity != verdict.Expected {
			s.Dir = dir
			return s
		}
	}
	t.Fatal("no failed run in the track record")
	return nil
}

// A failure is repeated twice with its seed, unless it should not be. A repetition that cannot
// be made is told, and the runs before it stand; a first run that cannot be made is an error.
func TestMake(t *testing.T) {
	failed := stored(t)
	for _, test := range []struct {
		name     string
		ask      Ask
		breaksAt int // attempt, from 1
		stops    bool
		runs     int
		fails    bool
		says     string
	}{
		{name: "repeated", ask: Ask{Repeat: 1}, runs: 3, says: "it is repeated 2 times"},
		{name: "not repeated", ask: Ask{Repeat: 1, NoRepeat: true}, runs: 1},
		{name: "by hand", ask: Ask{Repeat: 2}, runs: 2, says: "attempt 2 of 2"},
		{name: "stopped", ask: Ask{Repeat: 2}, stops: true, runs: 1},
		{name: "broken repetition", ask: Ask{Repeat: 1}, breaksAt: 2, runs: 1, says: "it could not be repeated: no room"},
		{name: "broken", ask: Ask{Repeat: 2}, breaksAt: 2, runs: 1, fails: true},
	} {
		var said strings.Builder
		test.ask.Start = keeper.Start{Scenario: "mqtt/qos-roundtrip"}
		attempts := 0
		made, err := test.ask.Make(t.Context(), func(_ context.Context, start keeper.Start, several bool) (*reports.Summary, bool, error) {
			if several != (attempts > 0 || test.ask.Repeat > 1) {
				t.Errorf("%s: attempt %d is one of several: %v", test.name, attempts+1, several)
			}
			if attempts++; attempts == test.breaksAt {
				return nil, false, errors.New("no room")
			}
			if attempts > 1 && test.ask.Repeat == 1 && start.Seed != failed.Seed {
				t.Errorf("%s: seed %d, want %d", test.name, start.Seed, failed.Seed)
			}
			return failed, test.stops, nil
		}, func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) })
		if len(made.Dirs) != test.runs || len(made.Cells) != test.runs || (err != nil) != test.fails || !strings.Contains(said.String(), test.says) {
			t.Errorf("%s: %d runs, %v, said %q", test.name, len(made.Dirs), err, said.String())
		}
	}
}

func TestCheck(t *testing.T) {
	if (Ask{}).Check() == nil || (PlanAsk{Most: -1}).Check() == nil {
		t.Error("numbers that make no run were accepted")
	}
	foreign := PlanAsk{}
	foreign.Foreign.CA = "ca.pem"
	if err := foreign.Check(); err == nil || !strings.Contains(err.Error(), "--endpoint HOST:PORT") {
		t.Error(err)
	}
}
