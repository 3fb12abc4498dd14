package reports

import "github.com/robustmq/rmq-mcp/judge/verdict"

// BlameFile is blame.json in a run directory.
const BlameFile = "blame.json"

// A Blame is whose doing a run's failure is, by runs that differ from it in one
// thing. It is decided over all of them, so it is no part of the evidence of this
// one.
type Blame struct {
	Headline     string        `json:"headline"`
	Experiments  []Experiment  `json:"experiments"`
	Attributions []Attribution `json:"attributions"`
	Open         []string      `json:"open"` // what was not compared, and why
}

// An Experiment is one such run.
type Experiment struct {
	What  string        `json:"what"` // in which thing it differs
	RunID string        `json:"run_id,omitempty"`
	State verdict.State `json:"state,omitempty"`
	Shows string        `json:"shows"` // the failure again, that it does not come, or why neither
}

// JoinBlame writes whose doing a failure is into the report of its run.
func JoinBlame(dir string, b Blame) error { return join(dir, BlameFile, b) }

// Blame is the blame by experiments of a run; nil if none was asked for.
func (d Dir) Blame() (*Blame, error) { return decidedIn[Blame](d, BlameFile) }
