package campaigns

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Attempts judges runs by their evidence alone, as repetitions of one experiment. It writes nothing.
func Attempts(dirs []string) ([]verdict.Attempt, error) {
	var attempts []verdict.Attempt
	for _, dir := range dirs {
		run, err := ReadUnsealed(dir)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, run.Attempt())
	}
	return attempts, sameExperiment(dirs)
}

// JudgeSeries returns the verdict of runs as repetitions of one experiment.
func JudgeSeries(dirs []string) (verdict.Verdict, error) {
	attempts, err := Attempts(dirs)
	if err != nil {
		return verdict.Verdict{}, err
	}
	return verdict.Series(attempts), nil
}

// sameExperiment returns an error if runs do not repeat each other: a scenario, a build or an SDK proves
// nothing of another.
func sameExperiment(dirs []string) error {
	var first []aspect
	for _, dir := range dirs {
		d, err := reports.Open(dir)
		if err != nil {
			return err
		}
		if len(dirs) > 1 && d.Run.Scenario == "" {
			return fmt.Errorf("judge: %s was explored by hand and repeats nothing; judge it alone", dir)
		}
		now := aspects(d.Run)
		if first == nil {
			first = now
		}
		if differs := differing(first, now); differs != "" {
			return fmt.Errorf("judge: a series repeats one scenario on one broker; %s and %s differ in %s; judge each alone", dirs[0], dir, differs)
		}
	}
	return nil
}

// An aspect is a part of a run that its repetitions share.
type aspect struct{ name, value string }

func aspects(r *history.Run) []aspect {
	b := BrokerOf(r.Cluster)
	return []aspect{
		{"scenario", r.Name()}, {"text of the scenario", fmt.Sprintf("%.8s", r.ScenarioSHA)}, {"faults left out", strings.Join(r.LeftOut, ", ")}, {"spread of clients over nodes", fmt.Sprint(r.Spread)},
		{"load", r.Lowered}, {"tier", r.Tier}, {"budget", fmt.Sprintf("%+v", r.Budget)}, {"protocol", r.Protocol}, {"transport", cmp.Or(r.Transport, contract.TCP)}, {"SDK", r.SDK},
		{"broker", b.String()}, {"endpoints", b.At}, {"build", fmt.Sprintf("%.8s", r.Cluster.BinarySHA)}, {"image", r.Cluster.Image},
		{"nodes", strconv.Itoa(b.Nodes)}, {"profile", b.Profile}, {"runtime", b.Runtime}, {"settings", b.Differs},
	}
}

// differing names the aspects in which two runs differ, "" for none.
func differing(a, b []aspect) string {
	var list []string
	for i := range a {
		if a[i] != b[i] {
			list = append(list, fmt.Sprintf("%s (%s; %s)", a[i].name, cmp.Or(a[i].value, "none"), cmp.Or(b[i].value, "none")))
		}
	}
	return strings.Join(list, ", ")
}
