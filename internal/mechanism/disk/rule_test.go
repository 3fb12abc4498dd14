package disk

import (
	"strings"
	"testing"
	"time"
)

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "a/b", true},
		{"*.log", "a/b/c.log", true},
		{"*.log", "a.log/b", false},
		{"a/*", "a/b", true},
		{"a/*", "a/b/c", false},
		{"a/**", "a/b/c", true},
		{"a/**", "a", true},
		{"**/c", "c", true},
		{"**/c", "a/b/c", true},
		{"a/**/c", "a/c", true},
		{"a/**/c", "b/a/c", false},
	} {
		if got := matches(test.pattern, test.name); got != test.want {
			t.Errorf("%q matches %q: %t", test.pattern, test.name, got)
		}
	}
}

// TestTurns checks which of ten operations a rule hits.
func TestTurns(t *testing.T) {
	for _, test := range []struct {
		rule Rule
		want string
	}{
		{Rule{}, "xxxxxxxxxx"},
		{Rule{Skip: 3}, "...xxxxxxx"},
		{Rule{Every: 3}, "..x..x..x."},
		{Rule{Skip: 1, Every: 4, Max: 1}, "....x....."},
		{Rule{Max: 2}, "xx........"},
		{Rule{Probability: 1}, "xxxxxxxxxx"},
	} {
		if got := turns(test.rule); got != test.want {
			t.Errorf("%+v: %s, want %s", test.rule, got, test.want)
		}
	}
	half := Rule{Probability: 0.5, Seed: 1}
	if got := turns(half); got != turns(half) || !strings.Contains(got, "x") || !strings.Contains(got, ".") {
		t.Errorf("with a seed: %s, then %s", got, turns(half))
	}
}

func turns(r Rule) string {
	r.ID, r.Errno = "r", "EIO"
	var rules table
	rules.set([]Rule{r})
	out := ""
	for range 10 {
		if rules.strike(operation{op: Write}).errno != "" {
			out += "x"
		} else {
			out += "."
		}
	}
	return out
}

// A rule that is set again unchanged goes on counting; another begins anew.
func TestSetAgain(t *testing.T) {
	r := Rule{ID: "r", Errno: "EIO", Max: 1}
	var rules table
	rules.set([]Rule{r})
	rules.strike(operation{op: Write})
	rules.set([]Rule{{ID: "other", Delay: time.Second}, r})
	if b := rules.strike(operation{op: Write}); b.errno != "" || len(b.delays) != 1 || b.delays[0].wait != time.Second {
		t.Errorf("%+v", b)
	}
	r.Max = 2
	rules.set([]Rule{r})
	if b := rules.strike(operation{op: Write}); b.errno != "EIO" {
		t.Errorf("%+v", b)
	}
}

func TestLastHits(t *testing.T) {
	a := arm(Rule{ID: "r", Errno: "EIO"})
	for i := range 1000 {
		a.strike(operation{op: Write, off: int64(i)}, &blow{})
	}
	s := a.stats()
	if len(s.Last) != LastHits || s.Last[0].Offset != 0 || s.Last[LastHits-1].Offset != 999 || s.Hits != 1000 {
		t.Errorf("%d hits, %d remembered, from %d to %d", s.Hits, len(s.Last), s.Last[0].Offset, s.Last[len(s.Last)-1].Offset)
	}
}

func TestBadInput(t *testing.T) {
	ok := Rule{ID: "r", Errno: "EIO"}
	for _, test := range []struct {
		faults Faults
		want   string
	}{
		{Faults{Limit: Limit{Bytes: -1}}, "negative"},
		{Faults{Rules: []Rule{ok, ok}}, "two"},
		{Faults{Rules: []Rule{{Errno: "EIO"}}}, "id"},
		{Faults{Rules: []Rule{{ID: "r"}}}, "does nothing"},
		{Faults{Rules: []Rule{{ID: "r", Errno: "EWRONG"}}}, "choose of EIO"},
		{Faults{Rules: []Rule{{ID: "r", Errno: "EIO", Ops: []Op{"sing"}}}}, "no operation"},
		{Faults{Rules: []Rule{{ID: "r", Errno: "EIO", Path: "["}}}, "path"},
		{Faults{Rules: []Rule{{ID: "r", Errno: "EIO", Probability: 2}}}, "between 0 and 1"},
		{Faults{Rules: []Rule{{ID: "r", Errno: "EIO", Failed: FailedLoses}}}, "fsync among ops"},
		{Faults{Rules: []Rule{{ID: "r", Hold: "never"}}}, "before or after"},
	} {
		if err := test.faults.Check(); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.faults, err, test.want)
		}
	}
	for _, c := range []Config{
		{Mount: "data", Backing: "/b"},
		{Mount: "/d", Backing: "/d/b"},
		{Mount: "/d/b", Backing: "/d"},
		{Mount: "/d", Backing: "/b", Model: Model{Name: "x", Commit: -1}},
	} {
		if _, err := c.check(); err == nil {
			t.Errorf("%+v was accepted", c)
		}
	}
}
