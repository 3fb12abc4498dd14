// Package league compares brokers. Each is held against the same statements of conformance and runs
// the same scenarios, and the differences between them come first.
package league

import (
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
	Scenarios []*scenarios.Scenario
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
	Run      string        `json:"run"`    // its id
	SHA      string        `json:"sha256"` // of the scenario
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
	if len(l.Checks) > 0 {
		return l.exam(l.Brokers[0]).Check()
	}
	return nil
}

// forget removes the stored results.
func (l League) forget() (err error) {
	for _, b := range l.Brokers {
		err = errors.Join(err, os.RemoveAll(l.file(b, "conformance")))
		for _, s := range l.Scenarios {
			err = errors.Join(err, os.RemoveAll(l.file(b, s.Name)))
		}
	}
	return err
}

// Run makes the missing results, one broker after the other. It continues after a broker that cannot
// be tried, and then returns an error.
func (l League) Run(ctx context.Context) error {
	var failed []string
	if l.Fresh {
		if err := l.forget(); err != nil {
			return err
		}
	}
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
	for _, s := range l.Scenarios {
		all = append(all, func(ctx context.Context) error { return l.try(ctx, b, s) })
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
	if _, ok := l.checked(b); ok {
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
func (l League) try(ctx context.Context, b Broker, s *scenarios.Scenario) error {
	if _, ok := l.tried(b, s); ok || s.RunsOn(b.Flavor, s.Protocol) != nil {
		return nil
	}
	l.Say(fmt.Sprintf("%s: %s", b, s.Name))
	r, err := l.Runner.Summary(ctx, keeper.Start{
		Scenario: s.Name, Cluster: cluster.Config{Flavor: b.Flavor, Version: b.Version, Arm: []string{cluster.ArmTap}}, // the packets say whose failure it is
		Caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "league", Args: map[string]any{"broker": b.String()}},
	})
	if err != nil {
		return err
	}
	v := r.Verdict
	return l.store(b, s.Name, Trial{Run: r.ID, SHA: s.SHA, Version: r.Version, State: v.State, Severity: v.Severity, Failed: v.Failed(), Blame: v.Blame, Build: build.Version()})
}

// tried is the stored result of a scenario as it is now.
func (l League) tried(b Broker, s *scenarios.Scenario) (t Trial, ok bool) {
	err := stored.ReadJSON(l.file(b, s.Name), &t)
	return t, err == nil && t.SHA == s.SHA
}

func (l League) store(b Broker, name string, what any) error {
	file := l.file(b, name)
	err := os.MkdirAll(filepath.Dir(file), 0o755)
	if err == nil {
		err = reports.WriteJSON(file, what)
	}
	if err != nil {
		return fmt.Errorf("store %s of %s: %w", name, b, err)
	}
	return nil
}
