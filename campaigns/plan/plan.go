// Package plan implements test plans. A plan is written down before any run and
// says what is to be tried on a broker and how it will be judged. It is linted,
// then frozen under its hash. Later runs count as its attempts by their own
// records, whatever anybody says of them. An attempt that was not run is
// NOT-RUN. A late change of the plan, of a scenario or of a checker is a
// mismatch and no edit.
package plan

import (
	"bytes"
	_ "embed"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
)

// Example is a plan without gaps, with a word on every field.
//
//go:embed example.md
var Example string

// A Plan is one as written: a Markdown file whose front matter this is.
type Plan struct {
	Name       string       `yaml:"name" json:"name"`   // by which the frozen one is found again
	Title      string       `yaml:"title" json:"title"` // the question, in one line
	Claims     []string     `yaml:"claims" json:"claims"`
	Hypotheses []Hypothesis `yaml:"hypotheses" json:"hypotheses"`
	Scenarios  []Scenario   `yaml:"scenarios" json:"scenarios"`
	Budget     Budget       `yaml:"budget" json:"budget"`
	Adequacy   []Criterion  `yaml:"adequacy" json:"adequacy"`
	NotCovered []Uncovered  `yaml:"not_covered" json:"not_covered"`

	Prose string `yaml:"-" json:"prose"`
}

// A Hypothesis is how a claim might be false.
type Hypothesis struct {
	ID        string   `yaml:"id" json:"id"`
	Text      string   `yaml:"text" json:"text"`
	Because   string   `yaml:"because" json:"because"`     // why it is suspected
	Claims    []string `yaml:"claims" json:"claims"`       // that it would falsify
	Scenarios []string `yaml:"scenarios" json:"scenarios"` // that would show it, by id
}

// A Scenario is one experiment to make, as often as its model says.
type Scenario struct {
	ID       string `yaml:"id" json:"id"`
	Scenario string `yaml:"scenario" json:"scenario"` // name in the library, or the path of a .md file
	Model    Model  `yaml:"model" json:"model"`
}

// A Model is what a scenario is run on, how often, and the bounds that judge it.
type Model struct {
	Flavor     string         `yaml:"flavor" json:"flavor"`
	Nodes      int            `yaml:"nodes" json:"nodes"`
	SDK        string         `yaml:"sdk" json:"sdk"`
	Tier       string         `yaml:"tier" json:"tier"`
	Protocol   string         `yaml:"protocol" json:"protocol,omitempty"`   // "": the scenario's
	Transport  string         `yaml:"transport" json:"transport,omitempty"` // "": tcp
	Profile    string         `yaml:"profile" json:"profile,omitempty"`     // "": tested
	Runtime    string         `yaml:"runtime" json:"runtime,omitempty"`     // "": process
	Version    string         `yaml:"version" json:"version,omitempty"`     // of RobustMQ, v0.4.11; "": any, but the same build in all attempts of all scenarios
	Settings   map[string]any `yaml:"settings" json:"settings,omitempty"`   // the flavor's own keys, on top of the profile
	Seeds      []int64        `yaml:"seeds" json:"seeds,omitempty"`         // one attempt each
	Attempts   int            `yaml:"attempts" json:"attempts,omitempty"`   // instead of seeds: so many, each with a seed of its own
	Thresholds Thresholds     `yaml:"thresholds" json:"thresholds"`
}

// Thresholds are bounds that runs are judged by. They are the scenario's own, at
// the tier: what moves there afterwards is seen here.
type Thresholds struct {
	RecoveryS float64 `yaml:"recovery_s" json:"recovery_s"`       // until every node serves again
	ProgressS float64 `yaml:"progress_s" json:"progress_s"`       // longest silence during a fault; 0: not judged
	ExpiryS   float64 `yaml:"expiry_s" json:"expiry_s,omitempty"` // how long after its time to live something may be there; 0: as by default
	Messages  int64   `yaml:"messages" json:"messages"`           // least that must be acknowledged

	Fair   history.Fair   `yaml:"fair" json:"fair,omitzero"`     // how others may be served while a client misbehaves; left out: not judged
	Growth history.Growth `yaml:"growth" json:"growth,omitzero"` // how fast what a node takes may grow; left out: not judged
}

// A Budget is how much may be run for a plan, all attempts together.
type Budget struct {
	Runs  int     `yaml:"runs" json:"runs"`
	TimeS float64 `yaml:"time_s" json:"time_s"`
}

// A Criterion says what would be enough for a claim.
type Criterion struct {
	Claim     string   `yaml:"claim" json:"claim"`
	State     string   `yaml:"state" json:"state"`         // PASS-smoke or PASS-hardening, which each of the scenarios has to reach
	Scenarios []string `yaml:"scenarios" json:"scenarios"` // by id
	Why       string   `yaml:"why" json:"why"`             // why that is enough
}

// Uncovered is what the plan says nothing about.
type Uncovered struct {
	What string `yaml:"what" json:"what"`
	Why  string `yaml:"why" json:"why"`
}

// Parse reads a plan. [Site.Lint] checks its content.
func Parse(text []byte) (*Plan, error) {
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	rest, ok := bytes.CutPrefix(text, []byte("---\n"))
	front, prose, closed := bytes.Cut(append([]byte("\n"), rest...), []byte("\n---\n"))
	if !ok || !closed {
		return nil, fmt.Errorf(`read plan: it is Markdown with front matter between two lines "---", such as this one:

%s`, Example)
	}
	p := &Plan{Prose: strings.TrimSpace(string(prose))}
	if err := yamlfile.Decode(front, p); err != nil { // the first line stands for the "---", so that lines count as in the file
		return nil, fmt.Errorf("read plan: %w; the keys are those of `rmq-mcp plan example`", err)
	}
	return p, nil
}

// wanted is how many attempts a model asks for.
func (m Model) wanted() int { return max(len(m.Seeds), m.Attempts) }
