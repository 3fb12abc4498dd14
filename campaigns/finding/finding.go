// Package finding makes findings of stored runs: a violated claim with one cause, in
// every run that shows it. Findings are made from the runs alone, whenever they are asked
// for.
package finding

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Key is the fingerprint of a finding: the same for each version of a broker or a
// library, for each scenario and for each seed.
type Key struct {
	Claim   string        `json:"claim"`
	Kind    string        `json:"kind"`            // of violation: lost, duplicated, …
	Party   verdict.Party `json:"party"`           // who is to blame; undecided where nobody could tell
	Subject string        `json:"subject"`         // the broker's flavor, or the library without its version
	Title   string        `json:"title,omitempty"` // by a person, of a part of a finding
}

// ID of the finding: its subject, its claim, and four digits of a hash. The party is no
// part of it: a finding keeps its ID when it becomes known who is to blame.
func (k Key) ID() string {
	parts := []string{k.Claim, k.Kind, k.Subject}
	if k.Title != "" {
		parts = append(parts, k.Title)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return stored.Slug(k.Subject+"-"+k.Claim) + "-" + hex.EncodeToString(sum[:2])
}

// String names the finding for people.
func (k Key) String() string {
	text := k.Subject + ": " + k.Claim + ", " + k.Kind
	if k.Title != "" {
		text += ", " + k.Title
	}
	return text
}

// A Finding is one violated claim with one cause.
type Finding struct {
	ID string `json:"id"`
	Key
	Severity string       `json:"severity"` // P0 to P3, by the claim
	Promised bool         `json:"promised"` // the broker's vendor promises the claim
	Text     string       `json:"text"`     // of the claim
	Source   string       `json:"source"`   // of the claim: section of the specification
	First    time.Time    `json:"first_seen"`
	Last     time.Time    `json:"last_seen"`
	Seen     []Seen       `json:"seen"`     // the runs of its scenarios, by version and library
	Smallest Reproduction `json:"smallest"` // of the runs that show it
	Runs     []RunLine    `json:"runs"`     // that show it, the newest first
}

// Find returns the finding with an ID, or the one whose ID begins so.
func Find(all []Finding, ref string) (Finding, error) {
	var fits []Finding
	var ids []string
	for _, f := range all {
		if f.ID == ref {
			return f, nil
		}
		if ref != "" && strings.HasPrefix(f.ID, ref) {
			fits = append(fits, f)
		}
		ids = append(ids, f.ID)
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if len(all) == 0 {
		return Finding{}, fmt.Errorf("no finding %q: no stored run failed", ref)
	}
	return Finding{}, fmt.Errorf("no finding %q, or several begin so; there are %s", ref, strings.Join(ids, ", "))
}

// Seen is in how many runs of its scenarios a finding was seen on one version of a
// broker with one library. None is seen, too: it says where it was looked for.
type Seen struct {
	Broker string `json:"broker"` // flavor and version
	SDK    string `json:"sdk"`
	reports.Times
}

// A Reproduction is the smallest scenario that shows a finding.
type Reproduction struct {
	RunID    string `json:"run_id"`
	Scenario string `json:"scenario"`
	Command  string `json:"command"`
	Faults   int    `json:"faults"`
	reports.Times
}

// A RunLine is one run that shows a finding.
type RunLine struct {
	RunID    string    `json:"run_id"`
	Root     string    `json:"root"` // of its seal
	Scenario string    `json:"scenario"`
	Broker   string    `json:"broker"`
	SDK      string    `json:"sdk"`
	Started  time.Time `json:"started"`
	Count    int64     `json:"count"`   // of violations
	Example  string    `json:"example"` // the first
}
