// Package rounds has the steps that a watch takes each release of a broker through.
package rounds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/campaigns/issues"
	"github.com/robustmq/rmq-mcp/campaigns/matrices"
	"github.com/robustmq/rmq-mcp/campaigns/searches"
	"github.com/robustmq/rmq-mcp/campaigns/watch"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/internal/broker/release"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
	"github.com/robustmq/rmq-mcp/scenarios"
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

// Steps are the names of the steps, in their order.
func Steps() []string {
	return []string{stepBroker, stepClaims, stepConformance, stepReplay, stepLibrary, stepMatrix, stepCampaign, stepPublish, stepIssues}
}

// An Ask is the broker of a watch, and what its steps do.
type Ask struct {
	Cluster         cluster.Config
	Within          time.Duration // for the steps of a round together
	Skip            []string      // steps
	Library, Matrix []string      // scenarios, or patterns of them
	SDKs            []string      // of the matrix; none: all
	Protocols       []string      // of library and matrix; none: all that SDK and scenario share
	Issues          string        // OWNER/REPO; "" for none
	Publish         string        // destination; "" for none
	Links           string        // address of the published runs
	Source          string        // git directory of the broker's source
}

// Check returns an error for an ask that no round can carry out.
func (ask Ask) Check() error {
	if cluster.FlavorNamed(ask.Cluster.Flavor).Foreign {
		return errors.New("watch: it starts the brokers itself; external brokers have no releases to start")
	}
	for _, step := range ask.Skip {
		if !slices.Contains(Steps(), step) {
			return fmt.Errorf("watch: --skip: no step %q; steps are %s", step, strings.Join(Steps(), ", "))
		}
	}
	for _, names := range [][]string{ask.Library, ask.Matrix} {
		if _, err := scenarios.Match(names); err != nil {
			return fmt.Errorf("watch: %w", err)
		}
	}
	for _, sdk := range ask.SDKs {
		if _, err := clients.ResolveAll(sdk); err != nil {
			return fmt.Errorf("watch: --sdk: %w", err)
		}
	}
	if ask.Issues != "" {
		r, err := publish.GitHub(ask.Issues)
		if err == nil {
			err = r.Writable()
		}
		if err != nil {
			return fmt.Errorf("watch: --issues: %w", err)
		}
	}
	if ask.Publish != "" {
		if err := publish.Destination(ask.Publish).Check(); err != nil {
			return fmt.Errorf("watch: --publish: %w", err)
		}
	}
	return nil
}

// Commands are larger parts of steps.
type Commands struct {
	// Replay runs the setups of findings on another version, each once for a round, and returns the
	// findings with a run as they are then.
	Replay   func(ctx context.Context, chosen []finding.Finding, on campaigns.Another, round string) ([]finding.Finding, error)
	Matrix   func(context.Context, matrices.Ask) (campaigns.Comparison, error)
	Campaign func(context.Context, searches.Ask) (campaigns.SearchSummary, error)
	Issues   func(ctx context.Context, repo string, ask issues.Ask) ([]issues.Change, error)
}

// A watching takes releases through steps.
type watching struct {
	Commands
	ask     Ask
	dir     string   // the state directory
	self    []string // the command line of rmq-mcp
	say     func(line string)
	journal *watch.Journal
}

// New returns the steps of a round. Findings come before the runs that may make new ones: people wait for
// their status. Dir is the state directory, self the command line of rmq-mcp.
func New(dir string, self []string, journal *watch.Journal, ask Ask, do Commands, say func(line string)) []watch.Step {
	w := watching{do, ask, dir, self, say, journal}
	all := []watch.Step{
		{Name: stepBroker, First: true, Do: w.broker},
		{Name: stepClaims, Always: true, Do: w.keepClaims},
		{Name: stepConformance, Do: w.conformance},
		{Name: stepReplay, Do: w.replay},
		{Name: stepLibrary, Do: w.library},
		{Name: stepMatrix, Do: w.matrix},
		{Name: stepCampaign, Rest: true, Do: w.campaign},
		{Name: stepPublish, Always: true, Do: w.publish},
		{Name: stepIssues, Always: true, Do: w.keepIssues},
	}
	return slices.DeleteFunc(all, func(s watch.Step) bool {
		skipped := func(name string) bool { return slices.Contains(ask.Skip, name) }
		switch s.Name {
		case stepBroker:
			return false
		case stepClaims:
			return ask.Issues == "" || skipped(s.Name) || skipped(stepIssues)
		case stepIssues:
			return ask.Issues == "" || skipped(s.Name)
		case stepPublish:
			return ask.Publish == "" || skipped(s.Name)
		}
		return skipped(s.Name)
	})
}

// clusterOf returns the cluster of a release. A release of the vendor is named by its version, so that
// others can repeat the run.
func (w watching) clusterOf(ctx context.Context, r watch.Release) (cluster.Config, error) {
	c := w.ask.Cluster
	switch {
	case r.Binary != "":
		c.Binary = r.Binary
		return c, nil
	case r.Archives == "":
		c.Version = r.Version
		return c, nil
	}
	cache := filepath.Join(experiment.CacheDir(w.dir), c.Flavor)
	request, err := release.Request{Version: r.Version, Base: r.Archives, Cache: cache}, error(nil)
	if filepath.IsAbs(r.Archives) {
		request, err = release.Local(r.Archives, r.Version, cache)
	}
	if err == nil {
		request.Progress = w.say
		c.Binary, err = release.Fetch(ctx, request)
	}
	return c, err
}

// single is one node of a release, with its program at hand.
func (w watching) single(ctx context.Context, r watch.Release) (cluster.Config, error) {
	c, err := w.clusterOf(ctx, r)
	if err == nil {
		c, err = experiment.Fetch(ctx, w.dir, c, w.say)
	}
	c.Nodes, c.Version = 1, ""
	return c, err
}

// broker starts one node. The release must have the version of its name, as statuses use the version
// that the broker reports.
func (w watching) broker(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.single(ctx, r.Release)
	if err != nil {
		return "", err
	}
	brokers, err := cluster.NewLocal(w.self)
	if err != nil {
		return "", err
	}
	defer brokers.Close()
	node, err := brokers.Start(ctx, c)
	if err != nil {
		return "", err
	}
	says := node.Nodes()[0].Version()
	words := strings.Fields("unknown " + says)
	if version := "v" + words[len(words)-1]; semver.Compare(version, r.Release.Version) != 0 {
		return "", fmt.Errorf("the program of %s says that it is %s: no finding would be called fixed in the right version", r.Release.Version, says)
	}
	return says, nil
}

// conformance holds one node of the release against the statements of the standards, and
// compares with the round before.
func (w watching) conformance(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.single(ctx, r.Release)
	if err != nil {
		return "", err
	}
	dir, err := w.journal.RoundDir(r)
	if err != nil {
		return "", err
	}
	report, err := exam.Run(ctx, exam.Options{Self: w.self, Cluster: c, Seed: 1, Wait: exam.Wait, Say: func(string) {}})
	if err == nil { // else the next round would be compared with what was not checked
		err = reports.WriteJSON(filepath.Join(dir, conformanceFile), report)
	}
	if err != nil {
		return "", err
	}
	return report.Compared(w.before(r)), nil
}

const conformanceFile = "conformance.json"

// before is the newest conformance of a round before this one, nil for none.
func (w watching) before(r watch.Round) *exam.Report {
	at := slices.IndexFunc(w.journal.Rounds, func(p *watch.Progress) bool { return p.ID == r.ID })
	for _, older := range slices.Backward(w.journal.Rounds[:max(0, at)]) {
		var c exam.Report
		if stored.ReadJSON(filepath.Join(w.journal.Dir(), older.ID, conformanceFile), &c) == nil {
			return &c
		}
	}
	return nil
}

// replay runs the findings of the broker, those that the notes of the release name first. It runs fixed
// findings, too: they may be back.
func (w watching) replay(ctx context.Context, r watch.Round) (string, error) {
	all, err := finding.Load(w.dir)
	if err != nil {
		return "", err
	}
	chosen := w.findings(all)
	if len(chosen) == 0 {
		return "there is no finding yet", nil
	}
	claims, err := issues.Claims(w.dir, w.ask.Issues, chosen)
	if err != nil {
		return "", err
	}
	slices.SortStableFunc(chosen, func(a, b finding.Finding) int {
		return cmp.Compare(len(claims[b.ID].Line), len(claims[a.ID].Line)) // those with a claim
	})
	before, err := w.statuses(r, chosen)
	if err != nil {
		return "", err
	}
	chosen = slices.DeleteFunc(chosen, func(f finding.Finding) bool { _, then := before[f.ID]; return !then }) // by this very round
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	now, err := w.Replay(ctx, chosen, campaigns.Another{Version: c.Version, Binary: c.Binary}, w.journal.Name()+" "+r.ID)
	if err == nil && len(now) == 0 {
		err = errors.New("no run of a finding could be made")
	}
	return fmt.Sprintf("%d of %d findings were repeated: %s", len(now), len(chosen), moved(before, now)), err
}

// statuses are those of findings when the round first came to repeat them.
func (w watching) statuses(r watch.Round, all []finding.Finding) (map[string]string, error) {
	dir, err := w.journal.RoundDir(r)
	if err != nil {
		return nil, err
	}
	path, before := filepath.Join(dir, "statuses.json"), map[string]string{}
	if err := stored.ReadJSON(path, &before); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return before, err
	}
	for _, f := range all {
		before[f.ID] = f.Status.String()
	}
	return before, reports.WriteJSON(path, before)
}

// findings are those of the broker.
func (w watching) findings(all finding.Findings) (list []finding.Finding) {
	for _, f := range all.Findings {
		if f.Party != verdict.SDK && f.Subject == w.ask.Cluster.Flavor {
			list = append(list, f)
		}
	}
	return list
}

// moved says which findings have another status than before.
func moved(before map[string]string, now []finding.Finding) string {
	var lines []string
	for _, f := range now {
		if was, known := before[f.ID]; known && was != f.Status.String() {
			lines = append(lines, f.ID+" is "+f.Status.String())
		}
	}
	return cmp.Or(strings.Join(lines, "; "), "no status moved")
}

// library runs scenarios without their faults and with them.
func (w watching) library(ctx context.Context, r watch.Round) (string, error) {
	return w.runs(ctx, r, w.ask.Library, campaigns.Order{SDKs: []string{"default"}, Controls: true})
}

// matrix runs scenarios with each client library.
func (w watching) matrix(ctx context.Context, r watch.Round) (string, error) {
	return w.runs(ctx, r, w.ask.Matrix, campaigns.Order{SDKs: w.ask.SDKs})
}

func (w watching) runs(ctx context.Context, r watch.Round, scenarios []string, o campaigns.Order) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	o.Flavors, o.Protocols, o.Seed, o.Repeat, o.Config = []string{c.Flavor}, w.ask.Protocols, r.Seed, 1, c
	result, err := w.Matrix(ctx, matrices.Ask{Names: scenarios, Order: o, Limits: campaigns.Limits{Referees: matrices.Referees}, Once: true})
	if err == nil && ctx.Err() == nil && result.Runs == 0 {
		err = errors.New("no run could be made: " + result.Headline)
	}
	return result.Headline, err
}

// campaign draws scenarios for as long as the round has time.
func (w watching) campaign(ctx context.Context, r watch.Round) (string, error) {
	c, err := w.clusterOf(ctx, r.Release)
	if err != nil {
		return "", err
	}
	ask := searches.Default()
	ask.Cluster, ask.Seed, ask.Within, ask.Reduce = c, r.Seed, w.ask.Within, true // the end of the round's time is that of ctx
	sum, err := w.Campaign(ctx, ask)
	if err == nil && sum.Errors > 0 && len(sum.States) == 0 {
		err = errors.New("no run could be made: " + sum.Headline)
	}
	return sum.Headline, err
}
