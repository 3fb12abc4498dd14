package campaigns

import (
	"cmp"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// compare compares all that was run.
func (m *Matrix) compare() Comparison {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Compare(m.all())
}

// all are the cells of all outcomes.
func (m *Matrix) all() (cells []Cell) {
	for _, o := range m.store.Done {
		cells = append(cells, m.cellOf(o))
	}
	return cells
}

// cellOf is an outcome as it is compared.
func (m *Matrix) cellOf(o Outcome) Cell {
	if c, ran := m.cells[o.RunID]; ran {
		return c
	}
	e := o.Entry
	return Cell{
		Scenario: e.Scenario, SDK: e.SDK, Protocol: e.Protocol, NoFaults: e.NoFaults, Transport: e.Transport, Seed: m.store.Plan.Seed, Tier: m.store.Plan.Tier,
		Broker: Broker{Flavor: e.Flavor}, Unsupported: o.Unsupported, Error: o.Error,
	}
}

// document is the matrix as people read it.
func (m *Matrix) document(finished bool) reports.Matrix {
	p := m.store.Plan
	c := Compare(m.all())
	doc := reports.Matrix{
		Format: reports.MatrixFormat, ID: m.store.ID(), Seed: p.Seed, Tier: p.Tier, Started: m.store.Started,
		DurationS: time.Since(m.store.Started).Seconds(), Finished: finished, Headline: c.Headline,
		Attributions: c.Attributions, Notes: c.Notes, Command: p.Command,
	}
	for _, s := range p.Scenarios {
		doc.Scenarios = append(doc.Scenarios, s.Name)
	}
	for _, e := range slices.Concat(p.Entries, m.extra) {
		o, done := m.store.outcome(e)
		doc.Cells = append(doc.Cells, m.shown(e, o, done))
	}
	return doc
}

// shown is an entry as the table has it.
func (m *Matrix) shown(e Entry, o Outcome, done bool) reports.MatrixCell {
	cell := reports.MatrixCell{
		Scenario: e.Scenario, SDK: e.SDK, Protocol: e.Protocol, Transport: e.Transport, Flavor: e.Flavor, Broker: e.Flavor, NoFaults: e.NoFaults, Referee: e.Referee,
		Failed: []string{}, RunID: o.RunID, DurationS: o.DurationS,
	}
	c, ran := m.cells[o.RunID]
	switch {
	case !done:
		cell.State, cell.Line = reports.CellPending, "not run yet"
		return cell
	case o.Unsupported != "":
		cell.State, cell.Line = reports.CellUnsupported, o.Unsupported
		return cell
	case !ran:
		cell.State, cell.Line = reports.CellError, cmp.Or(o.Error, "its run is gone")
		return cell
	}
	cell.Broker, cell.Root, cell.State, cell.Line = c.Broker.String(), c.Root, c.Verdict.State, c.Verdict.Headline
	cell.Failed = append(cell.Failed, c.failed()...)
	cell.Severity, cell.Blame = c.Verdict.Severity, c.Verdict.Blame
	if c.Starved() {
		cell.Line = "the host was starved, which says nothing about the broker: " + cell.Line
		cell.State = reports.CellStarved
	}
	if cell.State == "" {
		cell.State = verdict.NotRun
	}
	return cell
}
