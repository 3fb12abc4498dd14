// Package league compares brokers. Each is held against the same statements of conformance and runs
// the same scenarios, and the differences between them come first.
package league

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Broker takes part in the league, in one version.
type Broker struct {
	Flavor  string
	Version string // "": the program on this machine
}

// String is FLAVOR@VERSION.
func (b Broker) String() string {
	if b.Version == "" {
		return b.Flavor
	}
	return b.Flavor + "@" + b.Version
}

// Find reads brokers as FLAVOR or FLAVOR@VERSION.
func Find(names []string) (all []Broker, err error) {
	for _, name := range names {
		flavor, version, _ := strings.Cut(name, "@")
		b := Broker{Flavor: flavor, Version: version}
		own := cluster.FlavorNames(cluster.Own)
		switch f := cluster.FlavorNamed(flavor); {
		case !slices.Contains(own, flavor):
			return nil, fmt.Errorf("league: no broker %q%s; there are %s", flavor, near.Hint(flavor, own, ""), strings.Join(own, ", "))
		case version != "" && !f.Versions:
			return nil, fmt.Errorf("league: %s is taken as it is on this machine; leave out @%s", flavor, version)
		case slices.Contains(all, b):
			return nil, fmt.Errorf("league: %s is named twice", b)
		}
		all = append(all, b)
	}
	if len(all) < 2 {
		return nil, errors.New("league: a comparison needs two brokers or more, such as mosquitto,nats-server@2.15.1")
	}
	return all, nil
}

// A League holds brokers against statements and scenarios. Stored results count, unless Fresh is set.
type League struct {
	Runner    attempt.Runner
	Brokers   []Broker
	Checks    []string // groups or names of conformance
	Scenarios []string
	Fresh     bool
	Say       func(line string)
}

// Checked is what conformance said of a broker.
type Checked struct {
	Checks []string    `json:"checks"` // asked for
	Build  string      `json:"build"`  // of rmq-mcp
	Report exam.Report `json:"report"`
}

// A Trial is a run of a scenario.
type Trial struct {
	Run      string        `json:"run"` // its id
	Version  string        `json:"version"`
	State    verdict.State `json:"state"`
	Severity string        `json:"severity,omitempty"`
	Failed   []string      `json:"failed,omitempty"` // claims
	Blame    string        `json:"blame,omitempty"`
	Build    string        `json:"build"` // of rmq-mcp
}

// file is the path of a stored result of a broker.
func (l League) file(b Broker, name string) string {
	return filepath.Join(l.Runner.Dir, "league", b.String(), strings.ReplaceAll(name, "/", "-")+".json")
}

// Check returns an error for a league that cannot be held.
func (l League) Check() error {
	for _, name := range l.Scenarios {
		if _, err := scenarios.Load(name); err != nil {
			return err
		}
	}
	if len(l.Checks) > 0 {
		return l.exam(l.Brokers[0]).Check()
	}
	return nil
}

// Run makes the missing results, one broker after the other. It continues after a broker that cannot
// be tried, and then returns an error.
func (l League) Run(ctx context.Context) error {
	var failed []string
	for _, b := range l.Brokers {
		for _, part := range l.parts(b) {
			err := part(ctx)
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err != nil {
				l.Say(fmt.Sprintf("%s: not run: %v", b, err))
				failed = append(failed, b.String())
				break
			}
		}
	}
	if len(failed) > 0 {
		return fmt.Errorf("league: not run whole: %s", strings.Join(failed, ", "))
	}
	return nil
}

func (l League) parts(b Broker) (all []func(context.Context) error) {
	if len(l.Checks) > 0 {
		all = append(all, func(ctx context.Context) error { return l.examine(ctx, b) })
	}
	for _, name := range l.Scenarios {
		all = append(all, func(ctx context.Context) error { return l.try(ctx, b, name) })
	}
	return all
}

func (l League) exam(b Broker) exam.Options {
	return exam.Options{
		Dir: l.Runner.Dir, Self: l.Runner.Self, Cluster: cluster.Config{Flavor: b.Flavor, Version: b.Version, Nodes: 1},
		Only: l.Checks, Seed: 1, Wait: exam.Wait, Say: func(string) {},
	}
}

// examine holds a broker against the statements.
func (l League) examine(ctx context.Context, b Broker) error {
	if _, ok := l.checked(b); ok && !l.Fresh {
		return nil
	}
	l.Say(fmt.Sprintf("%s: conformance", b))
	report, err := exam.Run(ctx, l.exam(b))
	if err != nil {
		return err
	}
	return l.store(b, "conformance", Checked{Checks: l.Checks, Build: build.Version(), Report: report})
}

// checked is the stored result of these checks.
func (l League) checked(b Broker) (c Checked, ok bool) {
	err := stored.ReadJSON(l.file(b, "conformance"), &c)
	return c, err == nil && slices.Equal(c.Checks, l.Checks)
}

// try runs a scenario on a broker.
func (l League) try(ctx context.Context, b Broker, name string) error {
	if _, ok := l.tried(b, name); ok && !l.Fresh || l.unasked(b, name) != nil {
		return nil
	}
	l.Say(fmt.Sprintf("%s: %s", b, name))
	id, err := l.Runner.Run(ctx, keeper.Start{
		Scenario: name, Cluster: cluster.Config{Flavor: b.Flavor, Version: b.Version, Arm: []string{cluster.ArmTap}}, // the packets say whose failure it is
		Caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "league", Args: map[string]any{"broker": b.String()}},
	})
	if err != nil {
		return err
	}
	s, err := reports.Dir(filepath.Join(l.Runner.Dir, reports.RunsDir, id)).Summary()
	if err != nil {
		return err
	}
	t := Trial{Run: id, Version: s.Version, State: s.Verdict.State, Severity: s.Verdict.Severity, Blame: s.Verdict.Blame, Build: build.Version()}
	for _, r := range s.Verdict.Results {
		if r.Status == verdict.Fail {
			t.Failed = append(t.Failed, r.Claim.Name)
		}
	}
	return l.store(b, name, t)
}

func (l League) tried(b Broker, name string) (t Trial, ok bool) {
	ok = stored.ReadJSON(l.file(b, name), &t) == nil
	return t, ok
}

// unasked says why a scenario cannot be run on a broker.
func (l League) unasked(b Broker, name string) error {
	s, err := scenarios.Load(name)
	if err != nil {
		return err
	}
	return s.RunsOn(b.Flavor, s.Protocol)
}

func (l League) store(b Broker, name string, what any) error {
	file := l.file(b, name)
	text, err := reports.JSON(what)
	err = cmp.Or(err, os.MkdirAll(filepath.Dir(file), 0o755))
	if err == nil {
		err = reports.WriteFile(file, text)
	}
	if err != nil {
		return fmt.Errorf("store %s of %s: %w", name, b, err)
	}
	return nil
}
