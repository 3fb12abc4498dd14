package main

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// verify returns the problems of what an agent did and said: none where it is right,
// the record holds all of it, and it kept the limits.
func (t Task) verify(r Record, a Answer) (problems []string) {
	add := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if a.Party != t.Truth.Party {
		add("it says %s, and the truth is %s", a.Party, t.Truth.Party)
	}
	for _, claim := range t.Truth.Claims {
		if !slices.Contains(a.Claims, claim) {
			add("it does not name %s", claim)
		}
	}
	for _, claim := range a.Claims {
		if !slices.Contains(r.Failed[a.Party], claim) {
			add("it says that %s violates %s, and no run of its record shows that", a.Party, claim)
		}
	}
	if a.Party == "nobody" && r.Passed == 0 {
		add("it says that nothing is wrong, and none of its %d runs passed", r.Runs)
	}
	switch {
	case t.Published && r.Published == 0:
		add("it published nothing")
	case !t.Published && r.Published > 0:
		add("it published %d runs unasked", r.Published)
	}
	if r.Calls > t.Limits.Calls {
		add("it made %d calls, the limit is %d", r.Calls, t.Limits.Calls)
	}
	if r.Characters > t.Limits.Characters {
		add("it was given %d characters, the limit is %d", r.Characters, t.Limits.Characters)
	}
	if r.Took.Minutes() > t.Limits.Minutes {
		add("it took %s, the limit is %g minutes", r.Took.Round(time.Second), t.Limits.Minutes)
	}
	return problems
}

// A Result is how an agent did on a task.
type Result struct {
	Task     string
	Record   Record
	Problems []string
}

// row is a result as a row of the table in docs/evals.md.
func (r Result) row() string {
	right := "right"
	if len(r.Problems) > 0 {
		right = strings.Join(r.Problems, "; ")
	}
	return fmt.Sprintf("| `%s` | %d | %d | %d | %s | %s |", r.Task, r.Record.Calls, r.Record.Characters, r.Record.Runs, r.Record.Took.Round(time.Second), right)
}

const tableHead = "| Task | Calls | Characters | Runs | Took | |\n|---|---:|---:|---:|---:|---|"
