package shrink

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// A plan is a candidate of the tests.
type plan struct {
	faults string // a letter each
	rate   float64
}

var faults = List[plan]{
	Name: "faults", Len: func(p plan) int { return len(p.faults) }, Item: func(p plan, i int) string { return p.faults[i : i+1] },
	Keep: func(p plan, keep []int) plan {
		var left []byte
		for _, i := range keep {
			left = append(left, p.faults[i])
		}
		p.faults = string(left)
		return p
	},
}

var rate = Number[plan]{
	Name: "rate", Floor: 1, Value: func(p plan) float64 { return p.rate },
	With: func(p plan, v float64) plan { p.rate = v; return p },
}

func has(s, all string) bool {
	return !slices.ContainsFunc([]rune(all), func(r rune) bool { return !slices.Contains([]rune(s), r) })
}

// answers makes a test of a condition, and counts.
func answers(tries *int, fails func(plan) bool) Test[plan] {
	return func(p plan, _ string) (Answer, error) {
		*tries++
		if fails(p) {
			return Fails, nil
		}
		return Passes, nil
	}
}

func TestMinimize(t *testing.T) {
	start := plan{faults: "abcdefgh", rate: 1000}
	for _, c := range []struct {
		name  string
		fails func(plan) bool
		want  func(plan) bool
		most  int // tries
	}{
		{"one fault", func(p plan) bool { return has(p.faults, "f") }, func(p plan) bool { return p == plan{"f", 1} }, 20},
		{"no fault at all", func(plan) bool { return true }, func(p plan) bool { return p == plan{"", 1} }, 6},
		{"two that belong together", func(p plan) bool { return has(p.faults, "bg") }, func(p plan) bool { return p == plan{"bg", 1} }, 60},
		{"all of them", func(p plan) bool { return p.faults == "abcdefgh" }, func(p plan) bool { return p == plan{"abcdefgh", 1} }, 60},
		{"a least rate", func(p plan) bool { return p.rate >= 100 }, func(p plan) bool { return p.faults == "" && p.rate >= 100 && p.rate <= 140 }, 20},
		{"the rate matters only with a fault", func(p plan) bool { return has(p.faults, "a") || p.rate > 500 }, func(p plan) bool { return p == plan{"a", 1} || p.faults == "" && p.rate > 500 && p.rate < 700 }, 40},
		{"not monotone", func(p plan) bool { return len(p.faults)%2 == 0 && has(p.faults, "h") }, func(p plan) bool { return len(p.faults) == 2 && has(p.faults, "h") }, 90},
	} {
		t.Run(c.name, func(t *testing.T) {
			tries := 0
			got, err := Minimize(start, []Dimension[plan]{faults, rate}, answers(&tries, c.fails))
			if err != nil || !c.want(got) || !c.fails(got) {
				t.Errorf("left %+v, %v", got, err)
			}
			if tries > c.most {
				t.Errorf("%d tries, at most %d", tries, c.most)
			}
		})
	}
}

// The result fails and is one-minimal, whatever the failure depends on: no
// single fault can go.
func TestMinimizeIsSound(t *testing.T) {
	dice := rand.New(rand.NewPCG(1, 2))
	for n := range 300 {
		failing := map[string]bool{"abcdef": true}
		for range dice.IntN(20) {
			set := ""
			for _, f := range "abcdef" {
				if dice.IntN(2) == 0 {
					set += string(f)
				}
			}
			failing[set] = true
		}
		fails := func(p plan) bool { return failing[p.faults] }
		tries := 0
		got, err := Minimize(plan{faults: "abcdef", rate: 1}, []Dimension[plan]{faults, rate}, answers(&tries, fails))
		if err != nil || !fails(got) {
			t.Fatalf("%d: left %q of %v, %v", n, got.faults, failing, err)
		}
		for i := range got.faults {
			if one := got.faults[:i] + got.faults[i+1:]; failing[one] {
				t.Fatalf("%d: left %q of %v, but %q fails too", n, got.faults, failing, one)
			}
		}
	}
}

// A candidate with an unknown answer is not taken for a smaller one that fails.
func TestMinimizeLeavesUnknown(t *testing.T) {
	got, err := Minimize(plan{faults: "abc", rate: 9}, []Dimension[plan]{faults, rate}, func(p plan, _ string) (Answer, error) {
		if p.faults == "abc" {
			return Fails, nil
		}
		return Unknown, nil
	})
	if err != nil || got != (plan{"abc", 1}) {
		t.Errorf("left %+v, %v", got, err)
	}
}

// When the budget runs out, the smallest that failed until then is the answer.
func TestMinimizeStops(t *testing.T) {
	over := errors.New("the budget is used up")
	fails := func(p plan) bool { return has(p.faults, "c") && p.rate >= 10 }
	last := 8
	for budget := range 25 {
		tries := 0
		got, err := Minimize(plan{faults: "abcdefgh", rate: 1000}, []Dimension[plan]{faults, rate}, func(p plan, what string) (Answer, error) {
			if tries == budget {
				return Unknown, over
			}
			return answers(&tries, fails)(p, what)
		})
		if !fails(got) || err != nil && !errors.Is(err, over) || len(got.faults) > last {
			t.Fatalf("after %d tries: %+v, %v", budget, got, err)
		}
		last = len(got.faults)
	}
	if last != 1 {
		t.Errorf("%d faults are left in the end", last)
	}
}

// A test by a rule of several tries is kept from being led astray by what fails
// now and then: what is left fails as often as the rule asks.
func TestMinimizeTheFlaky(t *testing.T) {
	rule := Rule{K: 3, N: 5}
	for seed := range uint64(50) {
		dice := rand.New(rand.NewPCG(seed, 0))
		chance := func(p plan) float64 { // without d it hardly fails
			if !has(p.faults, "d") {
				return 0.02
			}
			return 0.95
		}
		got, err := Minimize(plan{faults: "abcdefgh", rate: 1}, []Dimension[plan]{faults, rate}, func(p plan, _ string) (Answer, error) {
			var tries []Answer
			for {
				if answer, final := rule.Decide(tries); final {
					return answer, nil
				}
				one := Passes
				if dice.Float64() < chance(p) {
					one = Fails
				}
				tries = append(tries, one)
			}
		})
		if err != nil || !has(got.faults, "d") {
			t.Errorf("seed %d: left %q, %v", seed, got.faults, err)
		}
	}
}

func TestRule(t *testing.T) {
	const f, p, u = Fails, Passes, Unknown
	for _, c := range []struct {
		rule  Rule
		tries []Answer
		want  Answer
		final bool
	}{
		{Rule{1, 1}, nil, u, false},
		{Rule{1, 1}, []Answer{f}, f, true},
		{Rule{1, 1}, []Answer{p}, p, true},
		{Rule{1, 1}, []Answer{u}, u, true},
		{Rule{2, 3}, []Answer{f}, u, false},
		{Rule{2, 3}, []Answer{f, p}, u, false},
		{Rule{2, 3}, []Answer{f, p, f}, f, true},
		{Rule{2, 3}, []Answer{f, f}, f, true},
		{Rule{2, 3}, []Answer{p, p}, p, true},
		{Rule{2, 3}, []Answer{f, u, p}, u, true}, // the unknown one might have failed
		{Rule{2, 3}, []Answer{p, u}, u, true},
		{Rule{1, 3}, []Answer{p, p, u}, u, true},
		{Rule{1, 3}, []Answer{p, p, p}, p, true},
	} {
		got, final := c.rule.Decide(c.tries)
		if got != c.want || final != c.final {
			t.Errorf("%s of %v: %s, final %v; want %s, %v", c.rule, c.tries, got, final, c.want, c.final)
		}
	}
	for _, bad := range []Rule{{0, 3}, {4, 3}, {0, 0}} {
		if bad.Check() == nil {
			t.Errorf("%s is taken", bad)
		}
	}
}

func TestWords(t *testing.T) {
	var said []string
	_, err := Minimize(plan{faults: "ab", rate: 8}, []Dimension[plan]{faults, rate}, func(_ plan, what string) (Answer, error) {
		said = append(said, what)
		return Passes, nil
	})
	want := []string{"faults without a, b", "faults without b", "faults without a", "rate 1 instead of 8", "rate 4.5 instead of 8", "rate 6.25 instead of 8"}
	if err != nil || fmt.Sprint(said) != fmt.Sprint(want) {
		t.Errorf("%q, %v", said, err)
	}
}
