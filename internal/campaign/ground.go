package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A ground is what runs must share to be compared.
type ground struct {
	scenario, sha, tier string
	noFaults            bool
	broker              Broker
	cells               []Cell
}

func groundsOf(cells []Cell) (list []*ground) {
	for _, c := range cells {
		if !c.ran() {
			continue
		}
		fits := func(g *ground) bool {
			return g.scenario == c.Scenario && g.sha == c.ScenarioSHA && g.tier == c.Tier && g.noFaults == c.NoFaults && g.broker == c.Broker
		}
		if i := slices.IndexFunc(list, fits); i >= 0 {
			list[i].cells = append(list[i].cells, c)
		} else {
			list = append(list, &ground{c.Scenario, c.ScenarioSHA, c.Tier, c.NoFaults, c.Broker, []Cell{c}})
		}
	}
	for _, c := range cells { // what never ran knows no more of its broker than what it is called
		if c.ran() || c.Unsupported != "" {
			continue
		}
		i := slices.IndexFunc(list, func(g *ground) bool {
			return g.scenario == c.Scenario && g.noFaults == c.NoFaults && g.broker.Flavor == c.Broker.Flavor
		})
		if i < 0 {
			i, list = len(list), append(list, &ground{c.Scenario, c.ScenarioSHA, c.Tier, c.NoFaults, c.Broker, nil})
		}
		list[i].cells = append(list[i].cells, c)
	}
	slices.SortStableFunc(list, func(a, b *ground) int { return cmp.Compare(a.name(), b.name()) })
	return list
}

func (g *ground) name() string {
	scenario := g.scenario
	if g.control() {
		scenario += " without its faults"
	}
	text := fmt.Sprintf("%s (%.8s, %s tier) on %s", scenario, g.sha, g.tier, g.broker)
	if g.broker.Nodes > 0 {
		text += fmt.Sprintf(", %d nodes", g.broker.Nodes)
	}
	for _, more := range []string{g.broker.Profile, g.broker.Runtime, fmt.Sprintf("%.8s", g.broker.Build), g.broker.Differs} {
		if more != "" {
			text += ", " + more
		}
	}
	return text
}

// control reports whether the runs are of a scenario that has faults, without these.
func (g *ground) control() bool { return len(g.cells) > 0 && g.cells[0].Control }

// maxNotes is how many pairs of one reason are named.
const maxNotes = 3

// notesOn says what was not compared with what.
func notesOn(grounds []*ground) (notes []string) {
	notes = []string{}
	var alone []string
	pairs := map[string][]string{}
	var reasons []string
	for i, g := range grounds {
		if len(sdksOf(g.cells)) == 1 && len(mainsOf(g, grounds)) == 0 {
			alone = append(alone, fmt.Sprintf("%s: %s alone was run, so there is nothing to compare it with; give another SDK's run of it", g.name(), g.cells[0].SDK))
		}
		if len(g.cells) > 0 && g.scenario == "" {
			notes = append(notes, fmt.Sprintf("explorations by hand repeat nothing, and were not compared: %s", runIDs(g.cells)))
		}
		for _, other := range grounds[i+1:] {
			why := apart(g, other)
			if why == "" {
				continue
			}
			if pairs[why] == nil {
				reasons = append(reasons, why)
			}
			pairs[why] = append(pairs[why], fmt.Sprintf("%s and %s were not compared: %s", g.name(), other.name(), why))
		}
	}
	if len(alone) > maxNotes {
		alone = []string{fmt.Sprintf("of %d scenarios one SDK alone was run, so there is nothing to compare it with; give other SDKs' runs of them", len(alone))}
	}
	notes = append(notes, alone...)
	for _, why := range reasons {
		if n := len(pairs[why]); n > maxNotes {
			pairs[why] = []string{fmt.Sprintf("%d pairs of scenarios were not compared: %s", n, why)}
		}
		notes = append(notes, pairs[why]...)
	}
	return notes
}

// apart says why two grounds cannot be compared; "" where one is the other's
// control.
func apart(a, b *ground) string {
	switch {
	case a.scenario != b.scenario:
		return "another scenario"
	case a.sha != b.sha:
		return "another text of the scenario"
	case a.tier != b.tier:
		return "another tier"
	case a.noFaults != b.noFaults:
		return "the one is without its faults"
	case a.broker.Flavor == b.broker.Flavor && a.broker.Version != b.broker.Version:
		return "another version of the broker"
	case a.broker.Flavor == b.broker.Flavor && a.broker.Build != b.broker.Build:
		return "another build of the broker"
	case a.broker.Flavor == b.broker.Flavor:
		return "another configuration of the broker"
	}
	return ""
}

// controlsOf are the runs on other brokers that tell a broker's fault from
// ours.
func controlsOf(g *ground, all []*ground) (cells []Cell) {
	for _, other := range all {
		if other != g && apart(g, other) == "" && other.broker.control() {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

// baselineOf are the same without their faults.
func baselineOf(g *ground, all []*ground) (cells []Cell) {
	for _, other := range all {
		if other.noFaults && !g.noFaults && other.scenario == g.scenario && other.sha == g.sha && other.tier == g.tier && other.broker == g.broker {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

// mainsOf are the runs whose control a ground is, which does not say again what
// they say: those on a broker that is no control itself, else with more SDKs.
func mainsOf(g *ground, all []*ground) (cells []Cell) {
	for _, other := range all {
		if other != g && apart(g, other) == "" && weightier(other, g) {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

func weightier(a, b *ground) bool {
	if x, y := a.broker.control(), b.broker.control(); x != y {
		return y
	}
	return cmp.Or(cmp.Compare(len(sdksOf(b.cells)), len(sdksOf(a.cells))), cmp.Compare(a.name(), b.name())) < 0
}

func sdksOf(cells []Cell) (sdks []string) {
	for _, c := range cells {
		sdks = union(sdks, []string{c.SDK})
	}
	return sdks
}

// columns are the runs that differ in their SDK alone.
func (g *ground) columns() (list []*column) {
	if g.scenario == "" {
		return nil
	}
	for _, c := range g.cells {
		i := slices.IndexFunc(list, func(col *column) bool { return col.protocol == c.Protocol && col.transport == c.Transport })
		if i < 0 {
			i, list = len(list), append(list, &column{ground: g, protocol: c.Protocol, transport: c.Transport})
		}
		list[i].add(c)
	}
	return list
}

func sameColumn(cells []Cell, col *column) *column {
	out := &column{ground: col.ground, protocol: col.protocol, transport: col.transport}
	for _, c := range cells {
		if c.Protocol == col.protocol && c.Transport == col.transport {
			out.add(c)
		}
	}
	return out
}

func runIDs(cells []Cell) string {
	var ids []string
	for _, c := range cells {
		ids = append(ids, c.RunID)
	}
	return strings.Join(ids, ", ")
}
