package finding

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// The states of a finding.
const (
	Open      = "open"
	Fixed     = "fixed"     // each setup that showed it was run on a later version as often as it takes, and did not
	Regressed = "regressed" // it was fixed, and a later version shows it again
)

// A Status is what became of a finding on later versions of its broker or library. It
// follows from runs alone: nothing moves it but runs on that version.
type Status struct {
	State   string `json:"state"`
	Version string `json:"version,omitempty"` // that fixed it, or in which it came back
	Before  string `json:"before,omitempty"`  // of a regression: the version that had fixed it
	Tried   *Tried `json:"tried,omitempty"`   // the newest version without it, while too few runs are made
}

// Tried is how far a version that does not show a finding was tried.
type Tried struct {
	Version string `json:"version"`
	Setups  int    `json:"setups"` // that were run there as often as it takes
	Of      int    `json:"of"`     // setups that showed the finding
}

// String is the status in words.
func (s Status) String() string {
	switch {
	case s.State == Fixed:
		return "fixed in " + s.Version
	case s.State == Regressed:
		return fmt.Sprintf("regressed in %s (fixed in %s)", s.Version, s.Before)
	case s.Tried != nil:
		return fmt.Sprintf("open; not seen on %s, where %d of %d setups were run as often as it takes", s.Tried.Version, s.Tried.Setups, s.Tried.Of)
	}
	return s.State
}

// A Repeat is a setup that showed a finding, to be run on another version.
type Repeat struct {
	RunID  string `json:"run_id"` // a run of it that shows the finding
	Setup  Setup  `json:"setup"`
	Needed int    `json:"needed"` // runs, so that its absence is no chance
	reports.Times
}

// line is the setup of a run without the version of the finding's subject.
func (k Key) line(r Run) Setup {
	s := r.setup()
	if k.Party != verdict.SDK {
		s.Broker, s.Build = "", ""
		return s
	}
	sdks := strings.Split(s.SDK, ", ")
	for i, sdk := range sdks {
		if name, _, _ := strings.Cut(sdk, "@"); name == k.Subject {
			sdks[i] = name
		}
	}
	s.SDK = strings.Join(sdks, ", ")
	return s
}

// A version is what its runs say of a finding.
type version struct {
	shows time.Time               // the first run began that shows it, whether it counts or not
	doubt bool                    // a run may show it
	lines map[Setup]reports.Times // of runs that count
	clean map[Setup][]time.Time   // when runs began that hold the claim and that nothing but their violations keeps from a pass
	runs  []Run                   // that count
}

// versions are those of the subject of a finding. One of a run that nobody knows is left out.
func (all *sights) versions(key Key, setups map[Setup][]Run) map[string]*version {
	list := map[string]*version{}
	of := func(r Run) *version {
		name := key.version(r)
		if list[name] == nil {
			list[name] = &version{lines: map[Setup]reports.Times{}, clean: map[Setup][]time.Time{}}
		}
		return list[name]
	}
	for _, s := range all.of[key] {
		if v := of(s.run); v.shows.IsZero() || s.run.Started.Before(v.shows) {
			v.shows = s.run.Started
		}
	}
	for _, runs := range setups {
		for _, r := range runs {
			if !key.concerns(r) || r.Planted != "" {
				continue
			}
			v, line := of(r), key.line(r)
			v.doubt = v.doubt || all.doubtful(key, r)
			if !all.could(key, r) {
				continue
			}
			v.runs = append(v.runs, r)
			t := v.lines[line]
			if t.Of++; all.of[key][r.ID] != nil {
				t.Failed++
			} else if r.clean() && r.result(key.Claim).Status == verdict.Pass {
				v.clean[line] = append(v.clean[line], r.Started)
			}
			v.lines[line] = t
		}
	}
	delete(list, "")
	return list
}

// status walks through the versions, the oldest first. It returns what each of them showed,
// and the setups to repeat, too.
func (all *sights) status(key Key, setups map[Setup][]Run) (Status, []OnVersion, []Repeat) {
	versions, before := all.versions(key, setups), map[Setup]reports.Times{}
	status := Status{State: Open}
	var history []OnVersion
	names := slices.SortedFunc(maps.Keys(versions), semver.Compare)
	for _, name := range names {
		var since time.Time
		switch v := versions[name]; {
		case !v.shows.IsZero():
			since = v.shows
			for line, t := range v.lines {
				before[line] = reports.Times{Failed: before[line].Failed + t.Failed, Of: before[line].Of + t.Of}
			}
			if status.Tried = nil; status.State == Fixed {
				status = Status{State: Regressed, Version: shown(name), Before: status.Version}
			}
		case status.State != Fixed && !v.doubt:
			status, since = status.on(name, v, before)
		}
		history = append(history, OnVersion{Version: shown(name), State: status.State, Since: since})
	}
	for i, name := range names {
		history[i].Times, history[i].First, history[i].Last = all.during(key, versions[name].runs, before)
	}
	return status, history, all.repeats(key, before)
}

// during counts the runs of a version of those setups that ever showed the finding, and says
// when the first and the last of them began.
func (all *sights) during(key Key, runs []Run, before map[Setup]reports.Times) (t reports.Times, first, last time.Time) {
	for _, r := range runs {
		if before[key.line(r)].Failed == 0 {
			continue
		}
		if t.Of++; all.of[key][r.ID] != nil {
			t.Failed++
		}
		if first.IsZero() || r.Started.Before(first) {
			first = r.Started
		}
		if r.Started.After(last) {
			last = r.Started
		}
	}
	return t, first, last
}

// on is the status after a version that does not show the finding, and the begin of the run that
// was enough to call it fixed.
func (s Status) on(name string, v *version, before map[Setup]reports.Times) (Status, time.Time) {
	t := Tried{Version: shown(name)}
	ran := false
	var enough time.Time
	for line, was := range before {
		if was.Failed == 0 {
			continue
		}
		t.Of++
		clean, n := slices.SortedFunc(slices.Values(v.clean[line]), time.Time.Compare), campaigns.Needed(was)
		ran = ran || len(clean) > 0
		if len(clean) < n {
			continue
		}
		if t.Setups++; clean[n-1].After(enough) {
			enough = clean[n-1]
		}
	}
	switch {
	case t.Of > 0 && t.Setups == t.Of:
		return Status{State: Fixed, Version: shown(name)}, enough
	case ran:
		s.Tried = &t
	}
	return s, time.Time{}
}

// repeats are the setups that showed a finding, each with a run that can be repeated where
// there is one.
func (all *sights) repeats(key Key, before map[Setup]reports.Times) (list []Repeat) {
	runs := map[Setup]Run{}
	for _, id := range sorted(all.of[key]) {
		r := all.of[key][id].run
		if known, there := runs[key.line(r)]; !there || r.Repeatable && !known.Repeatable {
			runs[key.line(r)] = r
		}
	}
	for line, t := range before {
		if t.Failed > 0 {
			list = append(list, Repeat{RunID: runs[line].ID, Setup: runs[line].setup(), Needed: campaigns.Needed(t), Times: t})
		}
	}
	slices.SortFunc(list, func(a, b Repeat) int { return cmp.Or(a.Setup.compare(b.Setup), cmp.Compare(a.RunID, b.RunID)) })
	return list
}
