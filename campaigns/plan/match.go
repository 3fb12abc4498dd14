package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// differs returns the differences that keep a run from being an attempt of an
// item. It looks at what the run recorded of itself before its first event. If
// it returns none, the run is an attempt. Differences in the judgment, the
// scenario's text and the bounds, come first.
func (it *Item) differs(run *history.Run) (list []Change) {
	m, c := it.Model, run.Cluster
	for _, row := range []struct {
		where    string
		old, new any
	}{
		{"scenario", it.Scenario, run.Name()},
		{"scenario text", short(it.SHA), short(run.ScenarioSHA)},
		{"recovery_s", it.Budget.RecoveryS, run.Budget.RecoveryS},
		{"progress_s", it.Budget.ProgressS, run.Budget.ProgressS},
		{"expiry_s", it.Budget.ExpiryS, run.Budget.ExpiryS},
		{"growth", it.Budget.Growth, run.Budget.Growth},
		{"messages", it.Budget.Messages, run.Budget.Messages},
		{"fair", it.Budget.Fair, run.Budget.Fair},
		{"duration_s", it.Budget.DurationS, run.Budget.DurationS},
		{"faults", it.Budget.Faults, run.Budget.Faults},
		{"min_rate", it.Budget.MinRate, run.Budget.MinRate},
		{"flavor", m.Flavor, c.Flavor}, {"nodes", m.Nodes, c.Nodes}, {"sdk", m.SDK, run.SDK}, {"tier", m.Tier, run.Tier},
		{"protocol", m.Protocol, run.Protocol}, {"transport", m.Transport, cmp.Or(run.Transport, "tcp")},
		{"profile", m.Profile, c.Profile}, {"runtime", m.Runtime, c.Runtime}, {"planted", "", c.Planted},
	} {
		if old, is := fmt.Sprint(row.old), fmt.Sprint(row.new); old != is {
			list = append(list, Change{row.where, old, is})
		}
	}
	if it.Config != nil {
		for _, change := range changed(it.Config, c.Config) {
			change.Where = "config " + change.Where
			list = append(list, change)
		}
	}
	if v := strings.TrimPrefix(m.Version, "v"); v != "" && !slices.Contains(strings.Fields(c.Version), v) {
		list = append(list, Change{"version", m.Version, c.Version})
	}
	if len(m.Seeds) > 0 && !slices.Contains(m.Seeds, run.Seed) {
		list = append(list, Change{"seed", fmt.Sprint(m.Seeds), fmt.Sprint(run.Seed)})
	}
	return list
}

// moved are those of the differences by which a run is judged otherwise than was
// planned, of a run that is an attempt but for them; nil for any other run.
func moved(differences []Change) (list []Change) {
	judged := []string{"scenario text", "recovery_s", "progress_s", "expiry_s", "messages", "fair", "growth", "duration_s", "faults", "min_rate"}
	for _, d := range differences {
		if !slices.Contains(judged, d.Where) {
			return nil
		}
		list = append(list, d)
	}
	return list
}

func short(sha string) string { return sha[:min(len(sha), 12)] }
