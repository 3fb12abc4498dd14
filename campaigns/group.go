package campaigns

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// A group is runs that can be compared: of one scenario, tier and broker.
type group struct {
	scenario, sha, tier string
	noFaults            bool
	leftOut             string // faults of the scenario that they were without
	broker              Broker
	cells               []Cell
}

func groupsOf(cells []Cell) (list []*group) {
	for _, c := range cells {
		if !c.ran() {
			continue
		}
		fits := func(g *group) bool {
			return g.scenario == c.Scenario && g.sha == c.ScenarioSHA && g.tier == c.Tier && g.noFaults == c.NoFaults && g.leftOut == c.LeftOut && g.broker == c.Broker
		}
		if i := slices.IndexFunc(list, fits); i >= 0 {
			list[i].cells = append(list[i].cells, c)
		} else {
			list = append(list, &group{c.Scenario, c.ScenarioSHA, c.Tier, c.NoFaults, c.LeftOut, c.Broker, []Cell{c}})
		}
	}
	for _, c := range cells { // what never ran knows no more of its broker than what it is called
		if c.ran() || c.Unsupported != "" {
			continue
		}
		i := slices.IndexFunc(list, func(g *group) bool {
			return g.scenario == c.Scenario && g.noFaults == c.NoFaults && g.broker.Flavor == c.Broker.Flavor
		})
		if i < 0 {
			i, list = len(list), append(list, &group{c.Scenario, c.ScenarioSHA, c.Tier, c.NoFaults, c.LeftOut, c.Broker, nil})
		}
		list[i].cells = append(list[i].cells, c)
	}
	slices.SortStableFunc(list, func(a, b *group) int { return cmp.Compare(a.name(), b.name()) })
	return list
}

func (g *group) name() string {
	scenario := g.scenario
	if g.baseline() {
		scenario += " without its faults"
	}
	if g.leftOut != "" {
		scenario += " without its " + g.leftOut
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

// baseline reports whether the runs are the workload alone of a scenario with faults.
func (g *group) baseline() bool { return len(g.cells) > 0 && g.cells[0].Baseline }

// maxNotes bounds the notes of one kind.
const maxNotes = 3

// notesOn says what was not compared with what.
func notesOn(groups []*group) (notes []string) {
	notes = []string{}
	var alone, elsewhere, pairs, names []string
	for i, g := range groups {
		if !slices.Contains(names, g.scenario) {
			names = append(names, g.scenario)
		}
		if len(sdksOf(g.cells)) == 1 && len(controlledBy(g, groups)) == 0 && len(faultyOf(g, groups)) == 0 {
			alone = append(alone, fmt.Sprintf("%s: %s alone was run, so there is nothing to compare it with; give another SDK's run of it", g.name(), g.cells[0].SDK))
		}
		if len(g.cells) > 0 && g.scenario == "" {
			notes = append(notes, fmt.Sprintf("explorations by hand repeat nothing, and were not compared: %s", runIDs(g.cells)))
		}
		for _, other := range groups[i+1:] {
			why := apart(g, other)
			if why == "" || aside(g, other, groups) || aside(other, g, groups) {
				continue
			}
			list := &pairs
			if why == anotherScenario {
				list = &elsewhere
			}
			if len(*list) <= maxNotes {
				*list = append(*list, fmt.Sprintf("%s and %s were not compared: %s", g.name(), other.name(), why))
			}
		}
	}
	if len(alone) > maxNotes {
		alone = []string{"most scenarios were run with one SDK, so there is nothing to compare that with; give other SDKs' runs of them"}
	}
	if len(elsewhere) > maxNotes {
		elsewhere = []string{fmt.Sprintf("%d scenarios were run; each is judged apart from the others", len(names))}
	}
	if len(pairs) > maxNotes {
		pairs = append(pairs[:maxNotes], "and further ones, for such reasons")
	}
	return slices.Concat(notes, alone, elsewhere, pairs)
}

// anotherScenario is why most groups of a large matrix are not compared.
const anotherScenario = "another scenario"

// apart says why two groups cannot be compared; "" where one is the other's
// control.
func apart(a, b *group) string {
	switch {
	case a.scenario != b.scenario:
		return anotherScenario
	case a.sha != b.sha:
		return "another text of the scenario"
	case a.tier != b.tier:
		return "another tier"
	case a.noFaults != b.noFaults:
		return "only one of them has faults"
	case a.leftOut != b.leftOut:
		return "other faults were left out"
	case a.broker.Flavor == b.broker.Flavor && a.broker.Version != b.broker.Version:
		return "another version of the broker"
	case a.broker.Flavor == b.broker.Flavor && a.broker.Build != b.broker.Build:
		return "another build of the broker"
	case a.broker.Flavor == b.broker.Flavor && a.broker.Document != b.broker.Document:
		return "another document of the broker"
	case a.broker.Flavor == b.broker.Flavor:
		return "another configuration of the broker"
	}
	return ""
}

// controlsOf are the runs on other brokers that tell a broker's fault from
// ours.
func controlsOf(g *group, all []*group) (cells []Cell) {
	for _, other := range all {
		if other != g && apart(g, other) == "" && other.broker.control() && !g.broker.same(other.broker) {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

// baselineOf are the runs of a group's baseline.
func baselineOf(g *group, all []*group) (cells []Cell) {
	for _, other := range all {
		if isBaseline(other, g) {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

// faultyOf are the runs whose baseline a group is.
func faultyOf(g *group, all []*group) (cells []Cell) {
	for _, other := range all {
		if isBaseline(g, other) {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

// isBaseline reports whether a group is another one without its faults.
func isBaseline(base, of *group) bool {
	return base.noFaults && !of.noFaults && base.scenario == of.scenario && base.sha == of.sha && base.tier == of.tier && base.broker == of.broker
}

// aside reports whether a group is the baseline of another one, or of the one whose
// control the other is.
func aside(base, other *group, all []*group) bool {
	return slices.ContainsFunc(all, func(of *group) bool { return isBaseline(base, of) && (of == other || apart(of, other) == "") })
}

// controlledBy returns the cells of the groups that this group is the control of,
// so that it does not repeat their findings. A group whose broker is no
// control is the main one, otherwise the group with more SDKs.
func controlledBy(g *group, all []*group) (cells []Cell) {
	for _, other := range all {
		if other != g && apart(g, other) == "" && weightier(other, g) {
			cells = append(cells, other.cells...)
		}
	}
	return cells
}

func weightier(a, b *group) bool {
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
func (g *group) bySDK() (list []*sdkRuns) {
	if g.scenario == "" {
		return nil
	}
	for _, c := range g.cells {
		i := slices.IndexFunc(list, func(col *sdkRuns) bool { return col.protocol == c.Protocol && col.transport == c.Transport })
		if i < 0 {
			i, list = len(list), append(list, &sdkRuns{group: g, protocol: c.Protocol, transport: c.Transport})
		}
		list[i].add(c)
	}
	return list
}

func sameLibraries(cells []Cell, col *sdkRuns) *sdkRuns {
	out := &sdkRuns{group: col.group, protocol: col.protocol, transport: col.transport}
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
