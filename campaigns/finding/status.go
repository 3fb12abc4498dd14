package finding

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// The states of a finding.
const (
	Open      = "open"
	Fixed     = "fixed"     // a later version was run as often as it takes, and did not show it
	Regressed = "regressed" // it was fixed, and a later version shows it again
)

// A Status is what became of a finding on later versions of its broker or library. It
// follows from runs alone: nothing moves it but a run on that version.
type Status struct {
	State   string `json:"state"`
	Version string `json:"version,omitempty"` // that fixed it, or in which it came back
	Before  string `json:"before,omitempty"`  // of a regression: the version that had fixed it
	Tried   *Tried `json:"tried,omitempty"`   // the newest version without it, while too few runs are made
}

// Tried is how often a setup that shows a finding was run on a version that does not.
type Tried struct {
	Version string `json:"version"`
	Of      int    `json:"of"`
	Needed  int    `json:"needed"`
}

// String is the status in words.
func (s Status) String() string {
	switch {
	case s.State == Fixed:
		return "fixed in " + s.Version
	case s.State == Regressed:
		return fmt.Sprintf("regressed in %s (fixed in %s)", s.Version, s.Before)
	case s.Tried != nil:
		return fmt.Sprintf("open; not seen in %d of %d runs needed on %s", s.Tried.Of, s.Tried.Needed, s.Tried.Version)
	}
	return s.State
}

// version of the subject of a finding in a run; "" where nobody knows it.
func (k Key) version(r Run) string {
	if k.Party == verdict.SDK {
		for _, sdk := range strings.Split(r.SDK, ", ") {
			if name, version, _ := strings.Cut(sdk, "@"); name == k.Subject {
				return version
			}
		}
		return ""
	}
	if r.Version == history.UnknownVersion {
		return ""
	}
	return r.Version
}

// line is a setup without the version of the finding's subject.
func (k Key) line(r Run) Setup {
	s := r.setup()
	if k.Party != verdict.SDK {
		s.Broker, s.Build = "", ""
		return s
	}
	s.SDK = strings.Replace(s.SDK, k.Subject+"@"+k.version(r), k.Subject, 1)
	return s
}

// status walks through the versions, the oldest first.
func (all *sights) status(key Key, setups map[Setup][]Run) Status {
	shown := map[string]bool{}
	for _, s := range all.of[key] {
		shown[key.version(s.run)] = true
	}
	lines := map[string]map[Setup]reports.Times{} // by version
	for _, runs := range setups {
		if !key.concerns(runs[0]) {
			continue
		}
		version, line := key.version(runs[0]), key.line(runs[0])
		if lines[version] == nil {
			lines[version] = map[Setup]reports.Times{}
		}
		lines[version][line] = plus(lines[version][line], all.times(key, runs))
	}
	versions := slices.Concat(slices.Collect(maps.Keys(shown)), slices.Collect(maps.Keys(lines)))
	slices.SortFunc(versions, func(a, b string) int { return cmp.Or(campaigns.CompareVersions(a, b), cmp.Compare(a, b)) })
	status, before := Status{State: Open}, map[Setup]reports.Times{}
	for _, version := range slices.Compact(versions) {
		switch {
		case version == "":
		case shown[version]:
			for line, t := range lines[version] {
				before[line] = plus(before[line], t)
			}
			if status.Tried = nil; status.State == Fixed {
				status = Status{State: Regressed, Version: version, Before: status.Version}
			}
		case status.State != Fixed:
			status = status.on(version, lines[version], before)
		}
	}
	return status
}

// on is the status after a version that does not show the finding, by the setups that
// showed it before.
func (s Status) on(version string, times, before map[Setup]reports.Times) Status {
	var best *Tried
	for line, was := range before {
		t := Tried{version, times[line].Of, Needed(was)}
		if was.Failed == 0 || t.Of == 0 {
			continue
		}
		if t.Of >= t.Needed {
			return Status{State: Fixed, Version: version}
		}
		if best == nil || t.Needed-t.Of < best.Needed-best.Of {
			best = &t
		}
	}
	if best != nil {
		s.Tried = best
	}
	return s
}

func plus(a, b reports.Times) reports.Times {
	return reports.Times{Failed: a.Failed + b.Failed, Of: a.Of + b.Of}
}

// chance is the probability that is left that a finding is still there, as often as before.
const chance = 0.05

// leastRuns is how many runs without it a fix takes, however often it came before.
const leastRuns = 3

// Needed is how many runs in a row must not show a finding that came so often before, so
// that this is chance in one of twenty cases. The rate is estimated by Laplace's rule of
// succession: (failed+1) of (runs+2).
func Needed(before reports.Times) int {
	rate := float64(before.Failed+1) / float64(before.Of+2)
	return max(leastRuns, int(math.Ceil(math.Log(chance)/math.Log(1-rate))))
}
