package plan

import (
	"testing"

	"github.com/robustmq/rmq-mcp/scenarios"
)

// Brokers that somebody else runs have no faults on nodes, and a plan freezes none for
// them. A scenario with no others is a control there, and the claims that only a fault
// can violate are not its.
func TestBrokersOfSomebodyElse(t *testing.T) {
	for _, test := range []struct {
		scenario string
		faults   int
		without  string // a claim of the scenario that its runs are not judged by
	}{
		{"mqtt/will", 4, ""},
		{"mqtt/broker-kill-9", 0, "progress"},
	} {
		s, err := scenarios.Load(test.scenario)
		if err != nil {
			t.Fatal(err)
		}
		tier, err := s.Tier("smoke", "external")
		if err != nil {
			t.Fatal(err)
		}
		l := linter{site: SiteOf("", nil), plan: &Plan{}}
		it := l.item("S1", Scenario{ID: "S1", Scenario: s.Name, Model: Model{Flavor: "external", Nodes: 1, SDK: s.SDK, Tier: "smoke", Attempts: 1}})
		if whole := s.Budget(tier); it.Budget.Faults != test.faults || len(it.Faults) != test.faults || (it.Budget.DurationS == whole.DurationS) != (test.faults == 0) {
			t.Errorf("%s: frozen are %+v, %d faults; with all its faults it has %+v", s.Name, it.Budget, len(it.Faults), whole)
		}
		if test.without != "" && (it.judges(test.without) || it.why(test.without) == "") {
			t.Errorf("%s: judged by %v; %s%s", s.Name, it.claimNames(), test.without, it.why(test.without))
		}
		r := Record{Frozen: Frozen{Items: []Item{it}, Plan: Plan{Scenarios: []Scenario{{Scenario: s.Name}}}}}
		if moved := r.moved(); len(moved) > 0 {
			t.Errorf("%s, just frozen, has moved: %q", s.Name, moved)
		}
	}
}
