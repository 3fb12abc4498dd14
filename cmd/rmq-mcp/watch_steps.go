package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/internal/broker/release"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

// The steps of a round.
const (
	stepBroker      = "broker"      // the release is there, and can be run
	stepClaims      = "claims"      // issues tell that its notes name them
	stepConformance = "conformance" // of a healthy node
	stepReplay      = "replay"      // of the findings there are
	stepLibrary     = "library"     // of scenarios, without and with their faults
	stepMatrix      = "matrix"      // of client libraries
	stepCampaign    = "campaign"    // random faults, for the rest of the time
	stepPublish     = "publish"
	stepIssues      = "issues"
)

func stepNames() []string {
	return []string{stepBroker, stepClaims, stepConformance, stepReplay, stepLibrary, stepMatrix, stepCampaign, stepPublish, stepIssues}
}

// A watching takes releases through steps.
type watching struct {
	app     *app
	ask     watchAsk
	dir     string // the state directory
	out     io.Writer
	journal *watch.Journal
}

// watchSteps are the steps of a round that are asked for. Findings come before what may make
// new ones: people wait for their status.
func (a *app) watchSteps(dir string, out io.Writer, journal *watch.Journal, ask watchAsk) []watch.Step {
	w := watching{a, ask, dir, out, journal}
	all := []watch.Step{
		{Name: stepBroker, First: true, Do: w.broker},
		{Name: stepClaims, Always: true, Do: w.keepIssues},
		{Name: stepConformance, Do: w.conformance},
		{Name: stepReplay, Do: w.replay},
		{Name: stepLibrary, Do: w.library},
		{Name: stepMatrix, Do: w.matrix},
		{Name: stepCampaign, Do: w.campaign},
		{Name: stepPublish, Always: true, Do: w.publish},
		{Name: stepIssues, Always: true, Do: w.keepIssues},
	}
	return slices.DeleteFunc(all, func(s watch.Step) bool {
		return slices.Contains(ask.skip, s.Name) && !s.First || ask.issues == "" && (s.Name == stepClaims || s.Name == stepIssues) || ask.publish == "" && s.Name == stepPublish
	})
}

// clusterOf is a cluster of a release. One of GitHub is named by its version, so that
// anybody can repeat the run.
func (w watching) clusterOf(ctx context.Context, r watch.Release) (cluster.Config, error) {
	c := w.ask.cluster
	switch {
	case r.Binary != "":
		c.Binary = r.Binary
	case r.Archive != "":
		request, err := release.Local(r.Archive, r.Version, filepath.Join(experiment.CacheDir(w.dir), c.Flavor))
		if err != nil {
			return c, err
		}
		request.Progress = w.say
		if c.Binary, err = release.Fetch(ctx, request); err != nil {
			return c, err
		}
	default:
		c.Version = r.Version
	}
	return c, nil
}

func (w watching) say(line string) { fmt.Fprintln(w.out, line) }

// broker makes the release ready, so that whatever is wrong with it is known before a run.
func (w watching) broker(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err == nil {
		c, err = experiment.Fetch(ctx, w.dir, c, w.say)
	}
	if err == nil {
		c.Version = "" // it is fetched
		_, err = cluster.Check(c)
	}
	return c.Binary, err
}

// conformance holds one node of the release against the statements of the standards, and
// compares with the round before.
func (w watching) conformance(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err == nil {
		c, err = experiment.Fetch(ctx, w.dir, c, w.say)
	}
	if err != nil {
		return "", err
	}
	dir, err := w.journal.RoundDir(r)
	if err != nil {
		return "", err
	}
	c.Nodes, c.Version = 1, ""
	report, err := w.app.examine(ctx, io.Discard, conforming{cluster: c, seed: 1, wait: conformanceWait, asJSON: true})
	if err == nil {
		err = reports.WriteJSON(filepath.Join(dir, conformanceFile), report)
	}
	if err != nil {
		return "", err
	}
	return report.compared(w.before(r)), nil
}

const conformanceFile = "conformance.json"

// before is the newest conformance of a round before this one; nil where there is none.
func (w watching) before(r watch.Round) *Conformance {
	for _, older := range slices.Backward(w.journal.Rounds) {
		var c Conformance
		if older.Begun.Before(r.Begun) && stored.ReadJSON(filepath.Join(w.dir, watch.Dir, older.ID, conformanceFile), &c) == nil {
			return &c
		}
	}
	return nil
}

// compared says how many statements are violated, and which of them were not before.
func (c Conformance) compared(before *Conformance) string {
	violated := func(c Conformance) (names []string) {
		for _, r := range c.Results {
			if r.Verdict == string(conformance.Violates) {
				names = append(names, r.Protocol+" "+r.Name)
			}
		}
		return names
	}
	now := violated(c)
	text := fmt.Sprintf("%s: %d checks, %d violations", c.Broker, len(c.Results), len(now))
	if before == nil {
		return text
	}
	was := violated(*before)
	fresh := slices.DeleteFunc(slices.Clone(now), func(n string) bool { return slices.Contains(was, n) })
	gone := slices.DeleteFunc(was, func(n string) bool { return slices.Contains(now, n) })
	text += fmt.Sprintf(", %d since %s", len(fresh), before.Broker)
	if len(fresh) > 0 {
		text += " (" + strings.Join(fresh, ", ") + ")"
	}
	return text + fmt.Sprintf(", %d no more", len(gone))
}

// replay runs the findings of the broker, those that the notes of the release name first.
// Those that are fixed are run, too: they may be back.
func (w watching) replay(ctx context.Context, r watch.Round) (string, error) {
	all, err := finding.Load(w.dir)
	if err != nil {
		return "", err
	}
	chosen := w.findings(all)
	if len(chosen) == 0 {
		return "there is no finding yet", nil
	}
	claims, err := w.claims(chosen)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(chosen, func(a, b finding.Finding) int {
		claimed := func(f finding.Finding) int { return len(claims[f.ID]) }
		return cmp.Compare(claimed(b), claimed(a))
	})
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	now, err := w.app.replayAll(ctx, w.out, w.dir, chosen, campaigns.Another{Version: c.Version, Binary: c.Binary}, 0)
	return fmt.Sprintf("%d of %d findings were repeated: %s", len(now), len(chosen), moved(chosen, now)), decided(err)
}

// findings are those of the broker.
func (w watching) findings(all finding.Findings) (list []finding.Finding) {
	for _, f := range all.Findings {
		if f.Party != verdict.SDK && f.Subject == w.ask.cluster.Flavor {
			list = append(list, f)
		}
	}
	return list
}

// claims are the versions that claim to fix findings, by their IDs.
func (w watching) claims(list []finding.Finding) (map[string]string, error) {
	memory, err := issues.ReadMemory(w.dir, w.ask.issues)
	if err != nil {
		return nil, err
	}
	known := map[string]watch.Issue{}
	for _, f := range list {
		number, _ := memory.Number(f.ID)
		known[f.ID] = watch.Issue{Repo: w.ask.issues, Number: number}
	}
	return w.journal.Claims(known), nil
}

// moved says which findings have another status than before.
func moved(before, now []finding.Finding) string {
	var lines []string
	for _, f := range now {
		i := slices.IndexFunc(before, func(b finding.Finding) bool { return b.ID == f.ID })
		if i >= 0 && before[i].Status.String() != f.Status.String() {
			lines = append(lines, f.ID+" is "+f.Status.String())
		}
	}
	return cmp.Or(strings.Join(lines, "; "), "no status moved")
}

// library runs scenarios without their faults and with them.
func (w watching) library(ctx context.Context, r watch.Round) (string, error) {
	return w.runs(ctx, r, w.ask.library, campaigns.Order{SDKs: []string{"default"}, Controls: true})
}

// matrix runs scenarios with each client library.
func (w watching) matrix(ctx context.Context, r watch.Round) (string, error) {
	return w.runs(ctx, r, w.ask.matrix, campaigns.Order{SDKs: w.ask.sdks})
}

func (w watching) runs(ctx context.Context, r watch.Round, scenarios []string, o campaigns.Order) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	o.Flavors, o.Protocols, o.Seed, o.Repeat, o.Config = []string{c.Flavor}, w.ask.protocols, r.Seed, 1, c
	result, err := w.app.runMatrix(ctx, w.out, scenarios, matrixAsk{order: o, limits: campaigns.Limits{Referees: matrixReferees}})
	return result.Headline, decided(err)
}

// campaign draws scenarios for as long as the round has time.
func (w watching) campaign(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	ask := defaultCampaign()
	ask.cluster, ask.seed, ask.within, ask.reduce = c, r.Seed, w.ask.within, true // the end of the round's time is that of ctx
	sum, _, err := w.app.runCampaign(ctx, w.out, ask)
	return sum.Headline, decided(err)
}

// publish publishes of each finding of the broker its smallest run and the newest that shows
// it.
func (w watching) publish(ctx context.Context, r watch.Round) (string, error) {
	all, err := finding.Load(w.dir)
	if err != nil {
		return "", err
	}
	var runs []string
	for _, f := range w.findings(all) {
		for _, id := range []string{f.Smallest.RunID, f.Runs[0].RunID} {
			if run := filepath.Join(w.dir, reports.RunsDir, id); !slices.Contains(runs, run) {
				runs = append(runs, run)
			}
		}
	}
	if len(runs) == 0 {
		return "there is no finding to publish", nil
	}
	over, err := overviewOf(runs)
	if err != nil {
		return "", err
	}
	pushed, err := publish.Push(ctx, runs, publish.Destination(w.ask.publish), reports.Words{}, over)
	return fmt.Sprintf("%d runs, %d files, at %s", len(runs), len(pushed.Paths), pushed.URL), err
}

// keepIssues keeps the issues of the broker's findings.
func (w watching) keepIssues(ctx context.Context, _ watch.Round) (string, error) {
	changes, err := w.app.keepIssues(ctx, w.out, w.ask.issues, nil, issueAsk{flavor: w.ask.cluster.Flavor, source: w.ask.source, links: w.ask.links})
	if err != nil {
		return "", err
	}
	did := map[string]int{}
	for _, c := range changes {
		did[c.Did]++
	}
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(did)) {
		parts = append(parts, fmt.Sprintf("%d %s", did[what], what))
	}
	return cmp.Or(strings.Join(parts, ", "), "there is no finding that has an issue"), nil
}

// decided is nil for an error that says what a command found.
func decided(err error) error {
	if code := exit(0); errors.As(err, &code) && int(code) != exitHarness {
		return nil
	}
	return err
}
