package faults

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
)

func TestParse(t *testing.T) {
	r, err := Parse("pause", map[string]any{"duration_s": 2})
	if err != nil {
		t.Fatal(err)
	}
	want := Request{Fault: Pause{}, Type: "pause", Params: map[string]any{"duration_s": 2.0}, Duration: 2 * time.Second}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
	r, err = Parse("kill", nil)
	if err != nil || r.Duration != 10*time.Second {
		t.Errorf("default: %v, %v", r.Duration, err)
	}
}

func TestParseSaysWhatIsValid(t *testing.T) {
	catalog := []Kind{{
		Type: "shape", DefaultDuration: time.Second, MaxDuration: time.Minute,
		Params: []Param{
			{Name: "delay_ms", Default: 5.0, Min: 1, Max: 100},
			{Name: "mode", Default: "drop", OneOf: []string{"drop", "reset"}},
			{Name: "peer", Default: ""},
			{Name: "both", Default: false},
		},
		New: func(Params) (Fault, error) { return Kill{}, nil },
	}}
	tests := []struct {
		name   string
		typ    string
		params map[string]any
		want   string // "" for no error
	}{
		{"all of them", "shape", map[string]any{"duration_s": 60, "delay_ms": 1.5, "mode": "reset", "peer": "node-2", "both": true}, ""},
		{"unknown type", "shade", nil, `no fault "shade" (did you mean shape?)`},
		{"unlike any", "meteor", nil, `no fault "meteor"; valid: shape`},
		{"unknown parameter", "shape", map[string]any{"delay": 5}, `no parameter "delay" (did you mean delay_ms? A name ends with its unit); valid: duration_s, delay_ms, mode, peer, both`},
		{"text for a number", "shape", map[string]any{"duration_s": "10s"}, `parameter duration_s: got "10s"; valid: a number from 0.1 to 60`},
		{"nothing for a number", "shape", map[string]any{"delay_ms": nil}, "parameter delay_ms: got <nil>; valid: a number from 1 to 100"},
		{"too large", "shape", map[string]any{"duration_s": 61}, "valid: a number from 0.1 to 60"},
		{"not a number", "shape", map[string]any{"duration_s": math.NaN()}, "valid: a number from 0.1 to 60"},
		{"another word", "shape", map[string]any{"mode": "cut"}, `parameter mode: got "cut"; valid: drop, reset`},
		{"number for a text", "shape", map[string]any{"peer": 2}, "parameter peer: got 2; valid: a string"},
		{"text for a yes", "shape", map[string]any{"both": "yes"}, `got "yes"; valid: true, false`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse(catalog, test.typ, test.params)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

// TestCatalog checks that the catalogue's statements about each fault are true.
func TestCatalog(t *testing.T) {
	var types []string
	for _, k := range Catalog() {
		if slices.Contains(types, k.Type) {
			t.Errorf("two faults are called %s", k.Type)
		}
		types = append(types, k.Type)
		r, err := Parse(k.Type, k.Example.Params)
		if err != nil {
			t.Errorf("%s as its example says: %v", k.Type, err)
			continue
		}
		required := func(p Param) bool { return p.Required }
		if _, err := Parse(k.Type, nil); (err != nil) != slices.ContainsFunc(k.Params, required) {
			t.Errorf("%s with its defaults: %v", k.Type, err)
		}
		if r.Fault.Name() != k.Type {
			t.Errorf("%s calls itself %s", k.Type, r.Fault.Name())
		}
		if k.Summary == "" || k.Family == "" || len(k.Targets) == 0 || k.DefaultDuration > k.MaxDuration {
			t.Errorf("%s is not described: %+v", k.Type, k)
		}
		if _, err := Parse(k.Type, k.Example.Params); err != nil || k.Example.Params["duration_s"] == nil || !slices.Contains(k.Targets, k.Example.Target) {
			t.Errorf("%s has no example that could be injected: %+v, %v", k.Type, k.Example, err)
		}
		if mechanism, missing := k.Available(context.Background()); mechanism == "" && missing == "" {
			t.Errorf("%s says neither how it is done nor what is missing", k.Type)
		}
	}
}

// A broker of somebody else has no fault that needs more than its process, or than its
// container. docs/faults.md has the same table.
func TestWithheld(t *testing.T) {
	had := map[string][]string{
		history.AsProcess:   {"pause", "cpu", "malformed", "publish_flood"},
		history.AsContainer: {"kill", "stop", "restart", "pause", "kill_all", "malformed", "publish_flood", "rolling_restart"},
		history.AsPod:       {"restart", "malformed", "publish_flood", "rolling_restart"},
	}
	for as := range had {
		var got []string
		for _, k := range Catalog() {
			if _, missing := k.Available(t.Context()); k.OnNode() && (missing != "" && slices.Contains(had[as], k.Type) || k.Withheld(nil, as) == "") {
				got = append(got, k.Type)
			}
		}
		if !slices.Equal(got, had[as]) {
			t.Errorf("a %s: %q, want %q", as, got, had[as])
		}
		for trigger, want := range map[string]bool{triggerMetric: as == history.AsContainer, triggerLog: false, triggerRole: false, triggerFile: false} {
			if why := crashAt().Withheld(map[string]any{"trigger": trigger}, as); (why == "") != want {
				t.Errorf("crash_at a %s, a %s: %q", trigger, as, why)
			}
		}
	}
}
