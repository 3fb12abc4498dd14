package faults

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPending(t *testing.T) {
	plan := func(fault string, layers ...string) Line {
		p := Planned{Fault: fault}
		for _, l := range layers {
			p.Entries = append(p.Entries, Entry{Fault: fault, Layer: l, Want: Frozen})
		}
		return Line{KindPlan, encode(p)}
	}
	applied := func(fault string) Line { return Line{KindApplied, encode(Applied{Fault: fault})} }
	healed := func(fault string) Line { return Line{KindHealed, encode(Healed{Fault: fault})} }
	tests := []struct {
		name  string
		lines []Line
		want  []string // fault layer
	}{
		{"an empty journal", nil, nil},
		{"planned, perhaps half applied", []Line{plan("f1", "process/a")}, []string{"f1 process/a"}},
		{"in place", []Line{plan("f1", "process/a", "process/b"), applied("f1")}, []string{"f1 process/a", "f1 process/b"}},
		{"healed", []Line{plan("f1", "process/a"), applied("f1"), healed("f1")}, nil},
		{"the newest first", []Line{plan("f1", "process/a"), plan("f2", "link/a"), plan("f3", "process/b"), healed("f2")},
			[]string{"f3 process/b", "f1 process/a"}},
		{"among other lines", []Line{{"call", json.RawMessage(`{"tool":"x"}`)}, plan("f1", "process/a"), {"answer", nil}}, []string{"f1 process/a"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			entries, err := Pending(test.lines)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range entries {
				got = append(got, e.Fault+" "+e.Layer)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Pending([]Line{{KindPlan, json.RawMessage(`"f1"`)}}); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a line of another shape: %v", err)
	}
}

func TestRecover(t *testing.T) {
	pending := []Entry{
		{Fault: "f3", Layer: "cgroup/a"}, {Fault: "f3", Layer: "process/a"},
		{Fault: "f2", Layer: "disk/a"}, {Fault: "f1", Layer: "process/a"},
	}
	calls := 0
	undoers := Undoers()
	undoers["cgroup"] = func(_ context.Context, layer string, _ []Entry) (string, error) {
		calls++
		return "removed " + layer, nil
	}
	undoers["disk"] = func(context.Context, string, []Entry) (string, error) { return "", errors.New("device busy") }
	ended := "nothing to undo: process/a ended with its keeper"
	want := []Healed{{"f3", "removed cgroup/a; " + ended}, {"f1", ended}}
	for range 2 {
		got, err := Recover(t.Context(), pending, undoers)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
		if err == nil || !strings.Contains(err.Error(), "undo disk/a: device busy") {
			t.Errorf("error: %v", err)
		}
	}
	if calls != 2 {
		t.Errorf("the cgroup was undone %d times in 2 recoveries", calls)
	}
	if _, err := Recover(t.Context(), []Entry{{Fault: "f1", Layer: "moon/a"}}, undoers); err == nil || !strings.Contains(err.Error(), `kind "moon"`) {
		t.Errorf("an unknown layer: %v", err)
	}
}
