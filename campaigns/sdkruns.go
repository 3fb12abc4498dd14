package campaigns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// An sdkRuns is runs that differ in their SDK alone.
type sdkRuns struct {
	group               *group
	protocol, transport string
	subjects            []*subject // by library and version
	outdated            []*subject // likewise: those that speak an earlier version of the protocol
	controls            *sdkRuns   // the same on brokers known to be well
	controlled          *sdkRuns   // the same on brokers that this one is a control of
	baseline            *sdkRuns   // the same without its faults
	faulty              *sdkRuns   // the same with faults, of which this is the baseline
}

// A subject is one SDK with its attempts.
type subject struct {
	sdk   string
	cells []Cell
}

func (c *sdkRuns) add(cell Cell) {
	list := &c.subjects
	if cell.outdated() {
		list = &c.outdated
	}
	i := slices.IndexFunc(*list, func(s *subject) bool { return s.sdk == cell.SDK })
	if i >= 0 {
		(*list)[i].cells = append((*list)[i].cells, cell)
		return
	}
	*list = append(*list, &subject{cell.SDK, []Cell{cell}})
	slices.SortFunc(*list, func(a, b *subject) int { return bySDK(a.sdk, b.sdk) })
}

// attempts are the runs that count: where the host was calm in one of them,
// those in which it was not say nothing more.
func (s *subject) attempts() []Cell {
	calm := slices.DeleteFunc(slices.Clone(s.cells), func(c Cell) bool { return !c.calm() })
	if len(calm) > 0 {
		return calm
	}
	return s.cells
}

// failing are the attempts that fail a claim and can be held against somebody:
// of a starved one only what the wire shows of the broker.
func (s *subject) failing(claim string) (cells []Cell) {
	for _, c := range s.attempts() {
		if c.held(claim) {
			cells = append(cells, c)
		}
	}
	return cells
}

// held reports whether a run fails a claim, and that can be held against somebody.
func (c Cell) held(claim string) bool {
	return c.fails(claim) && (c.calm() || c.witnessed(claim))
}

// witnessed reports whether the wire tells of a failure although the harness
// was not well. A host that stands still makes a library late, and the wire
// shows that too, so a starved run is never held against an SDK.
func (c Cell) witnessed(claim string) bool {
	parties := c.parties(claim)
	if c.Starved() {
		return len(parties) == 1 && parties[0] == verdict.Broker
	}
	return len(parties) > 0
}

func (s *subject) fails(claim string) bool { return len(s.failing(claim)) > 0 }

// passes: it never fails the claim, and was seen to hold it.
func (s *subject) passes(claim string) bool {
	return !slices.ContainsFunc(s.attempts(), func(c Cell) bool { return c.fails(claim) }) &&
		slices.ContainsFunc(s.attempts(), func(c Cell) bool { return c.passes(claim) })
}

// blamed reports whether the wire blames a party in any failing attempt.
func (s *subject) blamed(claim string, party verdict.Party) bool {
	return slices.ContainsFunc(s.failing(claim), func(c Cell) bool { return slices.Contains(c.parties(claim), party) })
}

// silent: it fails, and the wire blames nobody.
func (s *subject) silent(claim string) bool {
	return s.fails(claim) && !slices.ContainsFunc(s.failing(claim), func(c Cell) bool { return len(c.parties(claim)) > 0 })
}

// promised reports whether the broker's vendor promises a claim that it fails:
// else a control broker that fails it too tells nothing.
func (s *subject) promised(claim string) bool {
	return slices.ContainsFunc(s.failing(claim), func(c Cell) bool { return c.result(claim).Promised })
}

// tapped reports whether packets were recorded in a failing attempt.
func (s *subject) tapped(claim string) bool {
	return slices.ContainsFunc(s.failing(claim), func(c Cell) bool { return c.Wire })
}

// claims are those that anybody fails, in the order in which the runs judge
// them.
func (c *sdkRuns) claims() (names []string) {
	for _, s := range c.subjects {
		for _, cell := range s.attempts() {
			names = union(names, cell.failed())
		}
	}
	slices.Sort(names)
	return names
}

func (c *sdkRuns) those(is func(*subject) bool) (list []*subject) {
	for _, s := range c.subjects {
		if is(s) {
			list = append(list, s)
		}
	}
	return list
}

func names(subjects []*subject) (list []string) {
	for _, s := range subjects {
		list = append(list, s.sdk)
	}
	return list
}

// byLibrary groups subjects, which come in that order.
func byLibrary(subjects []*subject) (groups [][]*subject) {
	for i, s := range subjects {
		if i == 0 || library(s.sdk) != library(subjects[i-1].sdk) {
			groups = append(groups, nil)
		}
		last := len(groups) - 1
		groups[last] = append(groups[last], s)
	}
	return groups
}

// attribute returns the column's deviations: first the failing claims, then the
// SDKs that speak an earlier version of the protocol, then the SDKs without a
// verdict.
func (c *sdkRuns) attribute() (list []reports.Attribution) {
	for _, claim := range c.claims() {
		list = append(list, c.onWire(claim)...)
		list = append(list, c.byPattern(claim)...)
	}
	for i := range list {
		c.promised(&list[i])
		c.withoutFaults(&list[i])
	}
	list = slices.Concat(list, c.earlier(), c.undecided())
	for i := range list {
		c.versioned(&list[i])
	}
	return list
}

// versioned says that it is a library's doing, and not a version's, where one version
// of it was tried.
func (c *sdkRuns) versioned(a *reports.Attribution) {
	lib := library(a.SDKs[0])
	var tried []string
	for _, s := range slices.Concat(c.subjects, c.outdated) {
		if library(s.sdk) == lib && !slices.Contains(tried, s.sdk) {
			tried = append(tried, s.sdk)
		}
	}
	if len(tried) != 1 {
		return
	}
	for _, cause := range []*reports.Cause{&a.Cause, &a.Suspect} {
		if *cause == reports.CauseSDK {
			*cause = reports.CauseLibrary
		}
	}
}

// promised notes where a broker's vendor does not promise what it is blamed for.
func (c *sdkRuns) promised(a *reports.Attribution) {
	if a.Cause != reports.CauseBroker && a.Cause != reports.CauseProtocol {
		return
	}
	if cluster.FlavorNamed(c.group.broker.Flavor).Foreign {
		return // nobody knows who its vendor is
	}
	for _, s := range c.subjects {
		for _, cell := range s.failing(a.Claims[0]) {
			if !cell.result(a.Claims[0]).Promised {
				a.Evidence = append(a.Evidence, fmt.Sprintf("%s does not promise %s in this configuration", c.group.broker, a.Claims[0]))
				return
			}
		}
	}
}

// withoutFaults counts the runs without faults in which the same SDKs fail the claim and
// the same party is to blame. It puts them before the evidence.
func (c *sdkRuns) withoutFaults(a *reports.Attribution) {
	var lines []string
	claim := a.Claims[0]
	add := func(cell Cell, text string) {
		if len(lines) < maxEvidence {
			lines = append(lines, fmt.Sprintf("%s, run %s: %s", cell.SDK, cell.RunID, text))
		}
	}
	for _, s := range c.baseline.subjects {
		if !slices.Contains(a.SDKs, s.sdk) {
			continue
		}
		for _, cell := range s.attempts() {
			switch {
			case cell.passes(claim):
				a.Without.Of++
				add(cell, fmt.Sprintf("it holds %s where there is no fault", claim))
			case !cell.held(claim): // it cannot tell
			case cell.failsAs(claim, *a):
				a.Without.Failed++
				a.Without.Of++
				add(cell, fmt.Sprintf("it fails %s without any fault, too", claim))
			case a.Proof == ProofWire && cell.foundBy(claim)[""] > 0:
				add(cell, fmt.Sprintf("it fails %s without any fault, too; the recorded packets do not show who is at fault", claim))
			default:
				a.Without.Of++
				add(cell, fmt.Sprintf("where there is no fault, it fails %s by others", claim))
			}
		}
	}
	if a.Without.Of > 0 {
		a.Text += fmt.Sprintf("; without a fault in %d of %s", a.Without.Failed, plural(a.Without.Of, "run", "runs"))
	}
	a.Evidence = append(lines, a.Evidence...)
}

// failsAs reports whether the party that an attribution blames is also to blame for this
// run's failure.
func (c Cell) failsAs(claim string, a reports.Attribution) bool {
	by := c.foundBy(claim)
	if a.Cause == reports.CauseUndecided || by[""] > 0 && a.Proof != ProofWire {
		return true
	}
	for p := range by {
		if p != "" && a.Cause.Accuses(p) {
			return true
		}
	}
	return false
}

// deviation begins an attribution about subjects that fail a claim.
func (c *sdkRuns) deviation(cause reports.Cause, claim string, of []*subject) reports.Attribution {
	a := reports.Attribution{
		Cause: cause, Claims: []string{}, SDKs: names(of), Versions: versionsText(names(of)), Scenario: c.group.scenario,
		NoFaults: c.group.noFaults, Protocol: c.protocol, Transport: c.transport, Broker: c.group.broker.String(),
		Evidence: []string{}, Runs: []string{}, Next: []reports.Step{},
	}
	if claim != "" {
		a.Claims = append(a.Claims, claim)
	}
	for _, s := range of {
		cells := s.attempts()
		if claim != "" {
			cells = s.failing(claim)
		}
		for _, cell := range cells {
			if cell.RunID != "" {
				a.Runs = append(a.Runs, cell.RunID)
			}
			if r := cell.result(claim); r != nil {
				a.Source = r.Claim.Source
			}
		}
	}
	return a
}

// maxEvidence is how many examples an attribution quotes.
const maxEvidence = 3

// evidence quotes a run of each subject. If the wire shows the party's fault in
// one of its runs, evidence quotes that.
func evidence(of []*subject, claim string, party verdict.Party) (lines []string) {
	for _, s := range of[:min(len(of), maxEvidence)] {
		cells := s.failing(claim)
		best, text := cells[0], cells[0].result(claim).Summary
		for _, cell := range cells {
			if shown := cell.shows(claim, party); shown != "" {
				best, text = cell, shown
				break
			}
		}
		lines = append(lines, fmt.Sprintf("%s, run %s: %s", best.SDK, best.RunID, text))
	}
	return lines
}

// shows is the first violation of a claim that the wire holds against a party;
// "" where there is none.
func (c Cell) shows(claim string, party verdict.Party) string {
	r := c.result(claim)
	for _, a := range r.Anomalies {
		if party != "" && (a.Blame == party || r.Claim.Of == party) {
			return a.Text
		}
	}
	return ""
}

// untold says where the wire shows of some violations whose they are, and not of
// all: the rest may be somebody else's.
func untold(of []*subject, claim string) (lines []string) {
	for _, s := range of[:min(len(of), maxEvidence)] {
		for _, cell := range s.failing(claim) {
			r, n := cell.result(claim), 0
			for _, a := range r.Anomalies {
				if a.Blame == "" && r.Claim.Of == "" {
					n++
				}
			}
			if n > 0 {
				lines = append(lines, fmt.Sprintf("%s, run %s: for %d of the %d listed violations the recorded packets do not show who is at fault", s.sdk, cell.RunID, n, len(r.Anomalies)))
			}
		}
	}
	return lines
}

// counted is in how many runs subjects fail a claim, of how many that judged it.
func counted(of []*subject, claim string) (failed, all int) {
	for _, s := range of {
		for _, c := range s.attempts() {
			if c.held(claim) || c.passes(claim) {
				all++
			}
		}
		failed += len(s.failing(claim))
	}
	return failed, all
}

// howOften says in how many of their runs subjects fail a claim; "" for one.
func howOften(of []*subject, claim string) string {
	failed, all := counted(of, claim)
	if all <= len(of) {
		return ""
	}
	return fmt.Sprintf(", in %d of %d runs", failed, all)
}

// howOftenBy says in how many of their runs the wire blames a party for the failure of
// subjects; "" for one run.
func howOftenBy(of []*subject, claim string, party verdict.Party) string {
	_, all := counted(of, claim)
	if all <= len(of) {
		return ""
	}
	by := 0
	for _, s := range of {
		for _, c := range s.failing(claim) {
			if slices.Contains(c.parties(claim), party) {
				by++
			}
		}
	}
	return fmt.Sprintf(", in %d of %d runs", by, all)
}

// versionsText names SDKs for people, the versions of a library together.
func versionsText(sdks []string) string {
	sdks = slices.Clone(sdks)
	slices.SortFunc(sdks, bySDK)
	var parts []string
	for i := 0; i < len(sdks); {
		lib := library(sdks[i])
		var versions []string
		for ; i < len(sdks) && library(sdks[i]) == lib; i++ {
			versions = append(versions, version(sdks[i]))
		}
		parts = append(parts, lib+" "+strings.Join(versions, ", "))
	}
	return strings.Join(parts, "; ")
}
