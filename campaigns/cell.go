// Package campaigns is what spans experiments: it compares runs, says what
// their differences come from, and runs a matrix of them.
package campaigns

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Cell is one judged run to compare with others, or why there is none.
type Cell struct {
	RunID       string
	Root        string // of the run's seal
	Scenario    string
	ScenarioSHA string
	Seed        int64
	Tier        string
	Budget      history.Budget // how long and how much: what a tier is to a flavor may change from version to version
	SDK         string         // lang/package@version
	Protocol    string
	NoFaults    bool   // its scenario has none, or it is a baseline
	Baseline    bool   // the workload alone of a scenario that has faults
	LeftOut     string // faults of its scenario that it was without, beside others
	Spread      int    // as in [history.Run]
	Transport   string // tcp, tls, ws, wss
	Broker      Broker
	Wire        bool // packets were recorded
	Earlier     bool // its SDK speaks an earlier version of the protocol
	Verdict     verdict.Verdict
	Shortfalls  []verdict.Shortfall // that keep it from a better state, beside violations
	Panics      []string            // places of its nodes' panics
	StarvedS    float64             // time in which the host kept the harness from running
	Harness     []string            // what the harness could not do
	Unsupported string              // why there can be no run
	Error       string              // why there is none, though there could be
}

// A Broker is what was under test. Runs on different ones are not compared
// with each other, but one can be the other's control.
type Broker struct {
	Flavor   string
	Version  string
	Build    string // hash of its binary
	Document string // hash of the document that describes it
	Profile  string
	Runtime  string
	Nodes    int
	Differs  string // settings that are not the vendor's
	At       string // endpoints of somebody else's, separated by commas
	Plant    string // a defect of our own before it, or in it
}

func (b Broker) String() string {
	named := history.ClusterInfo{Flavor: b.Flavor, Version: b.Version, Planted: b.Plant}
	if cluster.FlavorNamed(b.Flavor).Foreign {
		named.Flavor, named.Version = b.Flavor+" broker", "" // whose version nobody can ask
	}
	return reports.BrokerName(named)
}

// control reports whether a broker is one that tells a broker's fault from
// ours: well known, and not the one that this project tests.
func (b Broker) control() bool { return len(cluster.FlavorNamed(b.Flavor).Control) > 0 }

// same reports whether two brokers are the same program under two names.
func (b Broker) same(as Broker) bool {
	return cluster.FlavorNamed(b.Flavor).SameAs == as.Flavor || cluster.FlavorNamed(as.Flavor).SameAs == b.Flavor
}

// Starved reports whether the host kept the harness from running for so long that
// the run says nothing.
func (c Cell) Starved() bool { return c.StarvedS > verdict.MaxStarvedS }
func (c Cell) ran() bool     { return c.Unsupported == "" && c.Error == "" }

// calm reports whether what the run shows is the broker's and the library's
// doing, as far as the harness can tell.
func (c Cell) calm() bool { return c.ran() && !c.Starved() && len(c.Harness) == 0 }

// Attempt is the run as one of a series.
func (c Cell) Attempt() verdict.Attempt {
	return verdict.Attempt{Seed: c.Seed, Root: c.Root, Verdict: c.Verdict, Panics: c.Panics, Short: !c.tried()}
}

// repeats reports whether a run of another time repeats one: they have in common what a
// replay keeps, and are on one build. Behind a build that nobody knows it may be another one.
func (c Cell) repeats(one Cell) bool {
	known := one.Broker.Build != "" || cluster.FlavorNamed(one.Broker.Flavor).Embedded
	return known && c.kept() == one.kept()
}

// kept is what a replay keeps of a run, to be compared.
func (c Cell) kept() any {
	return struct {
		scenario, tier, sdk, protocol, transport, leftOut string
		seed                                              int64
		spread                                            int
		baseline                                          bool
		broker                                            Broker
		budget                                            history.Budget
	}{c.ScenarioSHA, c.Tier, c.SDK, c.Protocol, c.Transport, c.LeftOut, c.Seed, c.Spread, c.Baseline, c.Broker, c.Budget}
}

// result is what the run found about a claim; nil if it did not judge it.
func (c Cell) result(claim string) *verdict.Result {
	i := slices.IndexFunc(c.Verdict.Results, func(r verdict.Result) bool { return r.Claim.Name == claim })
	if i < 0 {
		return nil
	}
	return &c.Verdict.Results[i]
}

func (c Cell) fails(claim string) bool {
	r := c.result(claim)
	return c.ran() && r != nil && r.Status == verdict.Fail
}

// passes reports whether the run was seen to hold a claim: one whose faults did not land has
// held nothing.
func (c Cell) passes(claim string) bool {
	r := c.result(claim)
	return c.tried() && r != nil && r.Status == verdict.Pass
}

// tried reports whether a claim that passes in the run was held: its faults landed, it was
// under load, and nothing of ours was in the way.
func (c Cell) tried() bool { return c.calm() && verdict.Holds(c.Shortfalls) }

// failed are the claims that fail, the worst first.
func (c Cell) failed() []string {
	if !c.ran() {
		return nil
	}
	return c.Verdict.Failed()
}

// parties returns the parties that the wire blames for the failure of a claim.
// A failed claim about the client library is always the library's own doing.
func (c Cell) parties(claim string) (list []verdict.Party) {
	r := c.result(claim)
	switch {
	case r == nil || r.Status != verdict.Fail:
		return nil
	case r.Claim.Of == verdict.SDK:
		return []verdict.Party{verdict.SDK}
	}
	add := func(p verdict.Party) {
		if p != "" && p != verdict.Undecided && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	for _, v := range r.Violations {
		add(v.Blame)
	}
	for _, a := range r.Anomalies { // of a verdict without them; else the first of them
		add(a.Blame)
	}
	return list
}

// library and version are the two parts of an SDK's name.
func library(sdk string) string { name, _, _ := strings.Cut(sdk, "@"); return name }
func version(sdk string) string { _, v, _ := strings.Cut(sdk, "@"); return v }

// bySDK orders names by library, then by version, the oldest first.
func bySDK(a, b string) int {
	return cmp.Or(cmp.Compare(library(a), library(b)), CompareVersions(version(a), version(b)))
}

// CompareVersions orders dotted numbers; what is no number by its letters.
func CompareVersions(a, b string) int {
	x, y := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(x), len(y)) {
		if i >= len(x) || i >= len(y) {
			return len(x) - len(y)
		}
		n, nerr := strconv.Atoi(x[i])
		m, merr := strconv.Atoi(y[i])
		order := cmp.Compare(n, m)
		if nerr != nil || merr != nil {
			order = cmp.Compare(x[i], y[i])
		}
		if order != 0 {
			return order
		}
	}
	return 0
}
