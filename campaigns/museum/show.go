package museum

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Trial is one run of an exhibit, or one check of it.
type Trial struct {
	Version string        `json:"version"`
	Run     string        `json:"run,omitempty"` // its id
	State   verdict.State `json:"state,omitempty"`
	Check   string        `json:"check,omitempty"`  // the verdict of a check
	Failed  []string      `json:"failed,omitempty"` // claims
	Blame   string        `json:"blame,omitempty"`
	Named   bool          `json:"named"` // the defect, by the right claim or check, and of the right party
	Clean   bool          `json:"clean"` // the run or each of the exhibit's claims passed, or the check conforms
	Build   string        `json:"build"` // of rmq-mcp
}

// A Result is what the trials of an exhibit showed.
type Result struct {
	Hash   string  `json:"hash"` // of the exhibit
	Trials []Trial `json:"trials"`
}

// Named counts the trials of a version, and those that name the defect.
func (r Result) Named(version string) (named, of int) {
	for _, t := range r.Trials {
		if t.Version == version {
			of++
			if t.Named {
				named++
			}
		}
	}
	return named, of
}

// Show tries exhibits. Earlier trials count, unless the exhibit has changed or Fresh is set.
type Show struct {
	Runner attempt.Runner
	Times  int // trials of each version
	Fresh  bool
	Say    func(line string)
}

func (s Show) file(e Exhibit) string { return filepath.Join(folder(s.Runner.Dir), e.Name+".json") }

func folder(state string) string { return filepath.Join(state, "museum") }

// Stored is the result of an exhibit in a state directory; an empty one if it was not tried as it is.
func Stored(state string, e Exhibit) (r Result) {
	if err := stored.ReadJSON(filepath.Join(folder(state), e.Name+".json"), &r); err != nil || r.Hash != e.hash {
		return Result{Hash: e.hash}
	}
	return r
}

// All tries the exhibits one after the other, each of their versions in turn.
func (s Show) All(ctx context.Context, list []Exhibit) error {
	if s.Times < 1 {
		return fmt.Errorf("museum: --times is %d, expected 1 or more", s.Times)
	}
	if err := os.MkdirAll(folder(s.Runner.Dir), 0o755); err != nil {
		return fmt.Errorf("make the museum's directory: %w", err)
	}
	own, err := os.MkdirTemp("", "rmq-mcp-museum-")
	if err == nil {
		defer os.RemoveAll(own)
		err = os.CopyFS(own, files)
	}
	if err != nil {
		return fmt.Errorf("write the museum's scenarios: %w", err)
	}
	var failed []string
	for _, e := range list {
		err := s.one(ctx, own, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil { // the host lacks something; the others can be tried
			s.Say(fmt.Sprintf("%s: not tried: %v", e.Name, err))
			failed = append(failed, e.Name)
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("museum: not tried: %s", strings.Join(failed, ", "))
	}
	return nil
}

// one tries an exhibit. The museum's own scenarios are in the directory own.
func (s Show) one(ctx context.Context, own string, e Exhibit) error {
	if e.Scenario == "" && e.Check == "" {
		return nil
	}
	r := Stored(s.Runner.Dir, e)
	if s.Fresh {
		r.Trials = nil
		if err := s.store(e, r); err != nil {
			return err
		}
	}
	for i := range s.Times {
		for _, version := range e.versions() {
			if _, of := r.Named(version); of > i {
				continue
			}
			s.Say(fmt.Sprintf("%s: %s %s, %d of %d", e.Name, e.Product(), version, i+1, s.Times))
			t, err := s.trial(ctx, own, e, version)
			if err != nil {
				return err
			}
			s.Say("  " + t.line())
			t.Build = build.Version()
			r.Trials = append(r.Trials, t)
			if err := s.store(e, r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s Show) store(e Exhibit, r Result) error {
	if err := reports.WriteJSON(s.file(e), r); err != nil {
		return fmt.Errorf("store what %s showed: %w", e.Name, err)
	}
	return nil
}

// line is the trial for people.
func (t Trial) line() string {
	what := strings.Join(append([]string{string(t.State) + t.Check}, t.Failed...), ", ")
	switch {
	case t.Named:
		return "named: " + what
	case t.Clean:
		return "clean: " + what
	case t.Blame != "":
		what += "; blame " + t.Blame
	}
	return plain.Cut("neither: "+what, plain.ShortLine)
}

// trial makes one run, or one check.
func (s Show) trial(ctx context.Context, own string, e Exhibit, version string) (Trial, error) {
	if e.Check != "" {
		return s.examine(ctx, e, version)
	}
	summary, err := s.Runner.Summary(ctx, e.start(own, version))
	if err != nil {
		return Trial{}, err
	}
	if e.Party == verdict.Broker && !slices.Contains(strings.Fields(summary.Version), version) {
		return Trial{}, fmt.Errorf("the broker is %s, and the exhibit is about %s", summary.Version, version)
	}
	return e.judge(version, summary), nil
}

// judge says whether a run names the defect: one of the exhibit's claims fails, and all its
// violations are the party's. Violations without a party of their own have that of the run.
func (e Exhibit) judge(version string, s *reports.Summary) Trial {
	v := s.Verdict
	t := Trial{Version: version, Run: s.ID, State: v.State, Blame: v.Blame}
	party, _, _ := strings.Cut(v.Blame, ":")
	passed := 0
	for _, r := range v.Results {
		if r.Status == verdict.Pass && slices.Contains(e.Claims, r.Claim.Name) {
			passed++
		}
		if r.Status != verdict.Fail {
			continue
		}
		t.Failed = append(t.Failed, r.Claim.Name)
		if !slices.Contains(e.Claims, r.Claim.Name) {
			continue
		}
		right, wrong := 0, 0
		for _, a := range r.Anomalies {
			if a.Blame == e.Party || a.Blame == "" && verdict.Party(party) == e.Party {
				right++
			} else {
				wrong++
			}
		}
		t.Named = t.Named || right > 0 && wrong == 0
	}
	t.Clean = v.State.ExitCode() == 0 || v.State.Failed() && passed == len(e.Claims)
	return t
}

// examine makes the check of an exhibit.
func (s Show) examine(ctx context.Context, e Exhibit, version string) (Trial, error) {
	o := e.exam(version)
	o.Dir, o.Self = s.Runner.Dir, s.Runner.Self
	report, err := exam.Run(ctx, o)
	if err != nil {
		return Trial{}, err
	}
	if !slices.Contains(strings.Fields(report.Broker), version) {
		return Trial{}, fmt.Errorf("the broker is %s, and the exhibit is about %s", report.Broker, version)
	}
	t := Trial{Version: version}
	for _, row := range report.Results { // there is one
		t.Check, t.Named, t.Clean = row.Verdict, row.Verdict == string(conformance.Violates), row.Verdict == string(conformance.Conforms)
	}
	switch ended := len(report.Down) > 0; {
	case ended && !e.Ends:
		return Trial{}, fmt.Errorf("the broker did not live through the check: %s", report.Down[0])
	case e.Ends:
		t.Named, t.Clean = ended, !ended
	}
	return t, nil
}
