package finding

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// ToReplay returns the findings with some IDs. Without an ID they are all open findings of the broker,
// or of the library if another version of it is given.
func (all Findings) ToReplay(ids []string, on campaigns.Another) (chosen []Finding, err error) {
	for _, id := range ids {
		f, err := all.Find(id)
		if err != nil {
			return nil, err
		}
		chosen = append(chosen, f)
	}
	for _, f := range all.Findings {
		library, _, _ := strings.Cut(on.SDK, "@")
		concerned := f.Party == verdict.SDK && f.Subject == library || f.Party != verdict.SDK && on.SDK == ""
		if len(ids) == 0 && f.Status.State != Fixed && concerned {
			chosen = append(chosen, f)
		}
	}
	if len(chosen) == 0 {
		return nil, errors.New("findings replay: there is no open finding that concerns this version; rmq-mcp findings lists them")
	}
	return chosen, nil
}

// A Replay is a setup to be run on another version, for all findings that it shows.
type Replay struct {
	Setup Setup    // without the version that showed it
	shown []Repeat // by each of the findings
	of    []Finding
}

// Replays returns the setups of findings, each once, in the order of the findings.
func Replays(chosen []Finding, on campaigns.Another) (list []*Replay) {
	known := map[Setup]*Replay{}
	for _, f := range chosen {
		for _, r := range f.Repeat {
			same := r.Setup
			if on.SDK == "" { // each is run on the same other version of the broker
				flavor, _, _ := strings.Cut(same.Broker, " ")
				same.Broker, same.Build = flavor, ""
			}
			if known[same] == nil {
				known[same] = &Replay{Setup: same}
				list = append(list, known[same])
			}
			known[same].shown, known[same].of = append(known[same].shown, r), append(known[same].of, f)
		}
	}
	return list
}

// Shown returns the setup as it first showed a finding.
func (r *Replay) Shown() Setup { return r.shown[0].Setup }

// IDs are those of the findings.
func (r *Replay) IDs() (list []string) {
	for _, f := range r.of {
		if !slices.Contains(list, f.ID) {
			list = append(list, f.ID)
		}
	}
	return list
}

// Job is the setup as a series of so many runs, or as many as the rarest finding takes if times is 0,
// and the text of its scenario. It ends once each finding's claim was violated. Dir is the state
// directory.
func (r *Replay) Job(dir string, on campaigns.Another, times int) (campaigns.Job, string, error) {
	var first campaigns.Recipe
	var wanted campaigns.Fingerprint
	var bad error
	needed, all := 0, true
	for i, shown := range r.shown {
		needed = max(needed, shown.Needed)
		recipe, err := campaigns.ReadRecipeOn(dir, filepath.Join(dir, reports.RunsDir, shown.RunID), on)
		if err != nil {
			bad, all = err, false
			continue
		}
		if first.Run == nil {
			first = recipe
		}
		failed := recipe.Wanted.Only([]string{r.of[i].Claim})
		wanted, all = append(wanted, failed...), all && len(failed) > 0
	}
	if first.Run == nil {
		return campaigns.Job{}, "", bad
	}
	first.Start.Seed = 0
	job := campaigns.NewSeries(first.Run.ID, first.Start, nil, cmp.Or(times, needed), false)
	job.Was, job.Wanted, job.UntilFails = strings.Join(r.IDs(), ", "), wanted, times == 0 && all
	return job, first.Text, nil
}
