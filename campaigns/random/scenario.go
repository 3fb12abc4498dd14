package random

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// times are what a flavor needs: the library's, of the scenarios with a crash.
type times struct {
	longer float64 // than a fault of the reference takes to be felt
	settle float64 // until a node that was gone serves again
	tier   scenarios.Tier
}

func timesOf(flavor string) times {
	p := cluster.FlavorNamed(flavor).Pace
	return times{longer: p.FeltS, settle: p.SettleS, tier: scenarios.Tier{SteadyS: p.SteadyS, AfterS: p.AfterS, DrainS: p.DrainS, RecoveryS: p.RecoveryS}}
}

// Check refuses a space in which there is nothing to draw, and says what it
// lacks.
func (s Space) Check() error {
	switch {
	case s.Nodes < 1:
		return fmt.Errorf("draw a scenario: a cluster of %d nodes; ask for 1 or more", s.Nodes)
	case len(s.Clients) == 0:
		return errors.New("draw a scenario: no client library; name one that speaks a protocol of the broker with --sdk")
	case len(s.Kinds()) == 0:
		return errors.New("draw a scenario: no fault that this host can do and the envelope allows for as long as it takes to land; `rmq-mcp doctor` says what is missing")
	}
	for _, c := range s.Clients {
		if err := cluster.Speaks(s.Flavor, c.Protocol); err != nil {
			return fmt.Errorf("draw a scenario for %s: %w", c.SDK, err)
		}
	}
	return nil
}

// Scenario draws the scenario of a seed. It is a file that can be run in the
// space.
func (s Space) Scenario(seed int64) (*scenarios.Scenario, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	one := s.draw(seed)
	if len(one.Schedule) == 0 {
		return nil, fmt.Errorf("draw the scenario of seed %d: no fault that is allowed suits a workload; allow more of them, or take another seed", seed)
	}
	text, err := one.Markdown()
	if err != nil {
		return nil, fmt.Errorf("draw the scenario of seed %d: %w", seed, err)
	}
	return scenarios.Parse(one.Name, text)
}

// draw is the scenario of a seed before it is written.
func (s Space) draw(seed int64) *scenarios.Scenario {
	d := newDice(seed)
	client := pick(d, s.Clients...)
	w, t := s.workload(d, client), timesOf(s.Flavor)
	p := s.schedule(d, w, t)
	one := &scenarios.Scenario{
		Name: fmt.Sprintf("mqtt/random-%d", seed), Title: title(p.steps, w), Protocol: client.Protocol, Kind: "fault",
		Cluster: scenarios.Cluster{Flavor: s.Flavor, Nodes: s.Nodes}, SDK: client.SDK.String(),
		Workload: w.Workload, Schedule: p.steps, Claims: w.claims(client, s.Flavor, p.steps),
	}
	if cluster.FlavorNamed(s.Flavor).OwnSize {
		one.Cluster.Nodes = 0
	}
	if len(p.steps) > 1 {
		one.Kind = "composite"
	}
	// A third of what flows while nothing is wrong: less is no traffic.
	t.tier.Messages = int64(math.Floor(w.RatePerS * (t.tier.SteadyS + t.tier.AfterS) / 3))
	one.Tiers = map[string]scenarios.Tier{"smoke": t.tier}
	one.Prose = prose(one, seed, s)
	return one
}

func title(steps []scenarios.Step, w load) string {
	var words []string
	for _, step := range steps {
		words = append(words, step.Fault+" of "+step.Target)
	}
	return fmt.Sprintf("%s, under %s", strings.Join(words, ", "), Shape(w.Workload))
}

// prose says what was drawn, for whoever reads the run.
func prose(s *scenarios.Scenario, seed int64, space Space) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", s.Title)
	b.WriteString("**Question.** Does what the broker acknowledged survive this? These faults were drawn at random:\n")
	fmt.Fprintf(&b, "they were drawn by seed %d for %s of %s, from what can be done to it.\n\n", seed, space.Flavor, nodes(space.Nodes))
	for i, step := range s.Schedule {
		fmt.Fprintf(&b, "%d. From %g s to %g s: `%s` of %s.", i+1, step.AtS, step.AtS+step.DurationS, step.Fault, step.Target)
		if cell := planned(s, i); cell.Phase == PhaseFault {
			b.WriteString(" Another fault is in place then.")
		}
		b.WriteString("\n")
	}
	b.WriteString("\n**When it fails.** `rmq-mcp reduce` finds what of it is needed; `rmq-mcp replay` says how often it comes again.\n")
	return b.String()
}

func nodes(n int) string {
	if n == 1 {
		return "one node"
	}
	return fmt.Sprintf("%d nodes", n)
}
