package plan

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A plan freezes what runs of its model have: on somebody else's broker no faults of nodes,
// and no more messages than a broker keeps. Runs that cannot do what is asked for are a gap.
func TestItem(t *testing.T) {
	shipped := Model{Flavor: "mosquitto", Nodes: 1, Profile: "as-shipped", Tier: "smoke"}
	external := Model{Flavor: "external", Nodes: 1, Tier: "smoke"}
	hardening := func(m Model) Model { m.Tier = "hardening"; return m }
	none := external
	none.Nodes = -1
	for _, test := range []struct {
		scenario string
		model    Model
		faults   int
		less     bool   // messages than the scenario asks for
		gap      string // "" for none but that of the thresholds
	}{
		{"mqtt/will", external, 4, false, ""},
		{"mqtt/persistent-session", external, 0, true, ""},
		{"mqtt/persistent-session", shipped, 0, true, ""},
		{"mqtt/will", hardening(external), 4, false, "runs of mqtt/will on external cannot become PASS-hardening: they are without its kill of node-3"},
		{"mqtt/persistent-session", hardening(shipped), 0, true, "cannot become PASS-hardening: they publish "},
		{"mqtt/broker-kill-9", external, 0, true, "no fault of mqtt/broker-kill-9 can be done on external; write a flavor whose nodes are ours"},
		{"mqtt/will", none, 4, false, "the size of the cluster is missing"},
	} {
		s, err := scenarios.Load(test.scenario)
		if err != nil {
			t.Fatal(err)
		}
		tier, err := s.Tier(test.model.Tier, test.model.Flavor)
		if err != nil {
			t.Fatal(err)
		}
		test.model.SDK, test.model.Attempts = s.SDK, 3
		l := linter{site: SiteOf("", nil), plan: &Plan{}}
		it := l.item("S1", Scenario{ID: "S1", Scenario: s.Name, Model: test.model})
		if rounds := max(tier.Rounds, 1); it.Budget.Faults != rounds*test.faults || len(it.Faults) != rounds*test.faults || (it.Budget.Messages < tier.Messages) != test.less {
			t.Errorf("%s on %s: frozen are %+v, %d faults; the tier asks for %d messages", s.Name, test.model.words(), it.Budget, len(it.Faults), tier.Messages)
		}
		others := 0 // than that of the thresholds, which this model leaves out
		for _, gap := range l.gaps {
			if !strings.HasSuffix(gap.Where, ".thresholds") {
				others++
			}
		}
		if said := l.gaps.Error(); !strings.Contains(said, test.gap) || (others == 0) != (test.gap == "") {
			t.Errorf("%s on %s: %s\nwant %q", s.Name, test.model.words(), said, test.gap)
		}
	}
}

// A pass without some of the scenario's faults is a pass with a concern.
func TestWithoutSomeFaults(t *testing.T) {
	for scenario, want := range map[string]verdict.Outcome{"mqtt/will": verdict.OutcomeConcerns, "mqtt/persistent-session": verdict.OutcomeDone} {
		l := linter{site: SiteOf("", nil), plan: &Plan{}}
		it := l.item("S1", Scenario{ID: "S1", Scenario: scenario, Model: Model{Flavor: "external", Nodes: 1, SDK: "go/rmq-mcp@1", Tier: "smoke", Attempts: 1}})
		r := &Record{Frozen: Frozen{Items: []Item{it}, Plan: Plan{Scenarios: []Scenario{{ID: "S1", Scenario: scenario}}}}}
		if s := r.Status([]Run{attempt(r, "S1", 1, verdict.PassSmoke)}, nil); s.Outcome != want {
			t.Errorf("%s: %s, want %s", scenario, s.Headline, want)
		} else if on := s.Items[0].On; strings.HasSuffix(on, ", without its kill of node-3") != (want == verdict.OutcomeConcerns) {
			t.Errorf("%s is on %s", scenario, on)
		}
	}
}
