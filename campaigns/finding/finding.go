// Package finding makes findings of stored runs: a violated claim with one cause, in
// every run that shows it. Findings are made from the runs alone, whenever they are asked
// for.
package finding

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
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
	Place   string        `json:"place,omitempty"` // of a panic: the file of the source
	Party   verdict.Party `json:"party"`           // who is to blame; undecided where nobody could tell
	Subject string        `json:"subject"`         // the broker's flavor, or the library without its version
	Title   string        `json:"title,omitempty"` // by a person, of a part of a finding
}

// ID of the finding: its subject, its claim, and eight digits of a hash. A finding of a
// broker keeps its ID when it becomes known that the broker is to blame. One that turns
// out to be a library's joins the finding of that library.
func (k Key) ID() string {
	parts := []string{k.Claim, k.Kind, k.Subject}
	for _, part := range []string{k.Place, k.Title} {
		if part != "" {
			parts = append(parts, part)
		}
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return stored.Slug(k.Subject+"-"+k.Claim) + "-" + hex.EncodeToString(sum[:4])
}

// Way is how the claim fails, with the place of a panic and the title of a part.
func (k Key) Way() string {
	way := k.Kind
	if k.Place != "" {
		way += " at " + k.Place
	}
	if k.Title != "" {
		way += ", " + k.Title
	}
	return way
}

// String names the finding for people.
func (k Key) String() string { return k.Subject + ": " + k.Claim + ", " + k.Way() }

// Findings are all findings of stored runs, the most severe first.
type Findings struct {
	Of       string    `json:"of,omitempty"` // the broker, where others and libraries are left out
	Findings []Finding `json:"findings"`
	Notes    []string  `json:"notes"` // which failed runs show none, and why
}

// Only are some of the findings. They name no other one.
func (all Findings) Only(some []Finding) Findings {
	all.Findings = slices.Clone(some)
	for i, f := range all.Findings {
		all.Findings[i].Also = slices.DeleteFunc(slices.Clone(f.Also), func(id string) bool {
			return !slices.ContainsFunc(some, func(other Finding) bool { return other.ID == id })
		})
	}
	return all
}

// A Finding is one violated claim with one cause.
type Finding struct {
	ID string `json:"id"`
	Key
	Severity   string       `json:"severity"`             // P0 to P3, by the claim
	Unpromised string       `json:"unpromised,omitempty"` // that the vendor does not promise the claim
	Text       string       `json:"text"`                 // of the claim
	Source     string       `json:"source"`               // of the claim: section of the specification
	First      time.Time    `json:"first_seen"`
	Last       time.Time    `json:"last_seen"`
	Seen       []Seen       `json:"seen"`           // how often, and where it was looked for in vain
	Also       []string     `json:"also,omitempty"` // IDs of findings of the same claim and kind, on another broker or by the doing of somebody else
	Smallest   Reproduction `json:"smallest"`
	Status     Status       `json:"status"`
	History    []OnVersion  `json:"history"`   // of the versions that somebody knows, the oldest first
	Newest     Newest       `json:"newest"`    // version that shows it
	Repeat     []Repeat     `json:"to_repeat"` // on another version, before it counts as fixed there
	Runs       []RunLine    `json:"runs"`      // that show it, the newest first; behind the others those in which nobody is blamed
}

// An OnVersion counts what one version showed of a finding, in runs of the setups that ever
// showed it.
type OnVersion struct {
	Version string    `json:"version"`
	First   time.Time `json:"first_run,omitzero"`
	Last    time.Time `json:"last_run,omitzero"`
	reports.Times
	State string    `json:"state"`          // by then
	Since time.Time `json:"since,omitzero"` // begin of the run that decided it: the first with the finding, or the last that a fix takes
}

// Newest is the newest version that shows a finding; zero where nobody knows a version.
type Newest struct {
	Version string    `json:"version"`
	First   time.Time `json:"first_seen"` // there
}

// Seen counts the runs of one setup: those that show a finding, and those that could have.
type Seen struct {
	Setup
	reports.Times
}

// A Setup is what runs that repeat each other have in common: all but the seed.
type Setup struct {
	Scenario string `json:"scenario"`
	SHA256   string `json:"scenario_sha256"`
	Protocol string `json:"protocol"`
	Tier     string `json:"tier"`
	SDK      string `json:"sdk"`
	Broker   string `json:"broker"`          // flavor and version; the endpoints of somebody else's
	Build    string `json:"build,omitempty"` // the beginning of the hash of its binary
	Nodes    int    `json:"nodes"`
	Else     string `json:"else,omitempty"` // transport, profile, runtime, settings, faults left out: what is not as usual
}

// compare orders setups.
func (s Setup) compare(o Setup) int {
	return cmp.Or(cmp.Compare(s.Scenario, o.Scenario), cmp.Compare(s.Broker, o.Broker), cmp.Compare(s.SDK, o.SDK), cmp.Compare(s.Protocol, o.Protocol),
		cmp.Compare(s.Tier, o.Tier), cmp.Compare(s.Nodes, o.Nodes), cmp.Compare(s.SHA256, o.SHA256), cmp.Compare(s.Build, o.Build), cmp.Compare(s.Else, o.Else))
}

// On names the broker and its build.
func (s Setup) On() string {
	if s.Build == "" {
		return s.Broker
	}
	return s.Broker + " (" + s.Build + ")"
}

// A Reproduction is the smallest run that shows a finding, and how often its setup does.
type Reproduction struct {
	RunID     string   `json:"run_id"`
	Scenario  string   `json:"scenario"`
	Setup     Setup    `json:"setup"`
	Command   string   `json:"command"`              // "" where nobody can repeat it by a command
	Changed   bool     `json:"changed"`              // the library's scenario of this name is another one today
	NotChosen []string `json:"not_chosen,omitempty"` // what the command does not choose
	Faults    int      `json:"faults"`               // that landed
	ByHand    bool     `json:"by_hand"`              // it is an exploration
	Repeated  string   `json:"repeated,omitempty"`   // how often its repetitions failed, where they are not all among the runs that are counted
	reports.Times
}

// FailsIn says how often its setup shows the finding: 2 of 3.
func (r Reproduction) FailsIn() string {
	switch {
	case r.ByHand:
		return "by hand"
	case r.Of == 0:
		return "not counted"
	}
	return fmt.Sprintf("%d of %d", r.Failed, r.Of)
}

// A RunLine is one run that shows a finding.
type RunLine struct {
	RunID     string    `json:"run_id"`
	Root      string    `json:"root"` // of its seal
	Scenario  string    `json:"scenario"`
	Broker    string    `json:"broker"`
	SDK       string    `json:"sdk"`
	Started   time.Time `json:"started"`
	Count     int64     `json:"count"`               // of violations
	AtLeast   bool      `json:"at_least,omitempty"`  // the run counted no more than it listed
	Counted   bool      `json:"counted"`             // among the runs of its setup; not by hand, nor without its faults, nor on a starved host
	Undecided bool      `json:"undecided,omitempty"` // nobody is to blame in this run, for all that is known
	Example   string    `json:"example"`             // the first
}

// Times is how often the run violates the claim.
func (r RunLine) Times() string {
	if r.AtLeast {
		return fmt.Sprintf("at least %d", r.Count)
	}
	return fmt.Sprint(r.Count)
}

// Shows is how often, and what that is not: 3, blame not decided, not counted.
func (r RunLine) Shows() string {
	text := r.Times()
	if r.Undecided {
		text += ", blame not decided"
	}
	if !r.Counted {
		text += ", not counted"
	}
	return text
}

// Common is what all setups of the finding have that is not as usual; "" where they differ.
func (f Finding) Common() string {
	common := ""
	for i, s := range f.Seen {
		if i > 0 && s.Else != common {
			return ""
		}
		common = s.Else
	}
	return common
}

// maxSuggested bounds the IDs that an error suggests.
const maxSuggested = 5

// Find returns the finding with an ID, or the one whose ID begins so.
func (all Findings) Find(ref string) (Finding, error) {
	var fits []Finding
	var near, ids []string
	for _, f := range all.Findings {
		if f.ID == ref {
			return f, nil
		}
		if ref != "" && strings.HasPrefix(f.ID, ref) {
			fits, near = append(fits, f), append(near, f.ID)
		}
		ids = append(ids, f.ID)
	}
	if len(fits) == 1 {
		return fits[0], nil
	}
	if len(ids) == 0 {
		return Finding{}, fmt.Errorf("no finding %q: there is none yet; rmq-mcp list runs shows the stored runs", ref)
	}
	what := "no finding %q; there are %s"
	if len(near) > 0 {
		what, ids = "%q is the beginning of several findings: %s", near
	}
	more := ""
	if len(ids) > maxSuggested {
		more = fmt.Sprintf(" and %d more; rmq-mcp findings lists them", len(ids)-maxSuggested)
	}
	return Finding{}, fmt.Errorf(what, ref, strings.Join(ids[:min(len(ids), maxSuggested)], ", ")+more)
}

// compare orders keys.
func (k Key) compare(o Key) int {
	return cmp.Or(cmp.Compare(k.Subject, o.Subject), cmp.Compare(k.Claim, o.Claim), cmp.Compare(k.Kind, o.Kind), cmp.Compare(k.Place, o.Place),
		cmp.Compare(k.Title, o.Title), cmp.Compare(k.Party, o.Party))
}

// bySeverity orders findings, the most severe first.
func bySeverity(a, b Finding) int {
	return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Subject, b.Subject), cmp.Compare(a.Claim, b.Claim), cmp.Compare(a.ID, b.ID))
}
