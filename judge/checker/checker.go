// Package checker holds the judges of single claims. A checker is a fold over
// the history: no clock, no I/O, no context. All checkers, and their canaries,
// go through the file in one pass.
package checker

import (
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Checker judges one claim. Add is called with every event in order of
// recording, Result after the last, with what only the end tells.
type Checker interface {
	Add(*history.Batch)
	Result(*closing) verdict.Result

	// fork returns a checker that has seen the same rows and goes on by itself: the
	// canary.
	fork() Checker
}

// A settler is a checker that may be sure to fail before the last row: what it has found no later
// row takes back. Only its canary is asked, which need not see the rest.
type settler interface{ settled() bool }

// Context is the record of a run beside its events.
type Context struct {
	Run      *history.Run
	Tables   *history.Tables
	Landings []history.Landing

	ledger   *ledger   // filled by Judge, ahead of the checkers
	receipts *receipts // filled by Judge, beside the checkers
	dialogue *dialogue // likewise, with the rules among them
}

// Completeness says whether missing rows could explain a missing event. Only a
// complete history can show a loss.
type Completeness = verdict.Completeness

// forks copies a list whose elements hold more than themselves.
func forks[T any](list []T, fork func(T) T) []T {
	out := make([]T, len(list))
	for i, v := range list {
		out[i] = fork(v)
	}
	return out
}
