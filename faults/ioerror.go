package faults

import (
	"context"
	"errors"
	"math"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// IOError makes file operations fail.
type IOError struct{ Rule disk.Rule }

// Name is io_error.
func (IOError) Name() string { return "io_error" }

// Plan plans a failure on every node's disk.
func (f IOError) Plan(ctx context.Context, target Target) (*Injection, error) {
	op, times := operation(f.Rule.Ops), attempts(f.Rule)
	return planRule(ctx, target, f.Rule, func(n Node, d Disk) Proof {
		return answersErrno(n, d, op, times, f.Rule.Errno)
	})
}

// mostAttempts bounds what one sample does to a disk.
const mostAttempts = 2000

// attempts are after how many operations a probe must have met the rule, but
// for a chance of one in a million.
func attempts(r disk.Rule) int {
	switch {
	case r.Every > 1:
		return r.Every
	case r.Probability > 0 && r.Probability < 1:
		return min(mostAttempts, int(math.Ceil(math.Log(1e-6)/math.Log(1-r.Probability))))
	}
	return 1
}

// failedFsync returns the state after a failed fsync for a value of the
// parameter fsync_then.
func failedFsync(word string) disk.Failed {
	return map[string]disk.Failed{"retry": disk.FailedOnce, "lie": disk.FailedLoses, "sticky": disk.FailedKeeps}[word]
}

func ioError() Kind {
	return diskKind(Kind{
		Type:         "io_error",
		NeedsRestart: true,
		Draw: Draw{Params: func(d Dice, _ Setting, p map[string]any) {
			p["errno"], p["every"] = oneOf(d, "EIO", "ENOSPC", "EROFS"), whole(d, 3, 20)
		}},
		Summary: "file operations are answered with an error: all of those chosen, every n-th, or a share of them",
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 3.0, "op": "write", "every": 10.0}},
		Params: []Param{
			{Name: "errno", Default: "EIO", OneOf: disk.Errnos(), Doc: "the error: " + joined(disk.Errnos())},
			opParam("fsync"), pathParam(),
			{Name: "every", Default: 0.0, Min: 0, Max: mostAttempts, Doc: "every n-th operation fails; 0: see percent"},
			{Name: "percent", Default: 0.0, Min: 0, Max: 100, Doc: "share of the operations that fail, by chance; 0 without every: all"},
			{
				Name: "fsync_then", Default: "retry", OneOf: []string{"retry", "lie", "sticky"},
				Doc: "after a failed fsync: retry tells the truth; lie: the data are gone and the next fsync succeeds; sticky: every later one fails too",
			},
			seedParam(),
		},
		New: func(p Params) (Fault, error) {
			rule, err := failing(p)
			if err != nil {
				return nil, err
			}
			return IOError{rule}, checkRule(rule)
		},
	})
}

func failing(p Params) (disk.Rule, error) {
	rule, err := ruleOf(p)
	if err != nil {
		return rule, err
	}
	rule.Errno = p.text("errno")
	every := p.number("every")
	percent := p.number("percent")
	then := p.text("fsync_then")
	rule.Every, rule.Probability, rule.Failed = int(every), percent/100, failedFsync(then)
	switch {
	case every > 0 && percent > 0:
		return rule, errors.New("parameters every and percent contradict each other; leave one out")
	case every != math.Trunc(every):
		return rule, errors.New("parameter every: only a whole number of operations can pass")
	case percent > 0 && attempts(rule) == mostAttempts:
		return rule, errors.New("parameter percent: below 0.7 no probe could see it; use every")
	case rule.Failed != disk.FailedOnce && !slices.Contains(rule.Ops, disk.Fsync):
		return rule, errors.New("parameter fsync_then: op has to be, or to name, fsync")
	}
	return rule, nil
}
