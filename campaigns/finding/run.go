package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Run is a stored run.
type Run struct {
	reports.Row
	Report *reports.Report // nil of a run that no finding needs
}

// is reports whether a person or a comparison means this run. A published run may have
// been given a shorter name.
func (r Run) is(id string) bool { return r.ID == id || r.Report != nil && r.Report.ID == id }

// broker names the broker. One of somebody else's is known by its endpoints.
func (r Run) broker() string {
	name := campaigns.BrokerOf(r.Report.Cluster).String()
	return strings.TrimSpace(name + " " + r.endpoints())
}

func (r Run) endpoints() string {
	return strings.Join(slices.Sorted(slices.Values(reports.EndpointsOf(r.Report.Cluster))), ",")
}

// flavor is the broker without its version.
func (r Run) flavor() string { return strings.TrimSpace(r.Flavor + " " + r.endpoints()) }

// setup is what the run has in common with its repetitions.
func (r Run) setup() Setup {
	b := campaigns.BrokerOf(r.Report.Cluster)
	var others []string
	for _, o := range []struct{ name, value, usual string }{
		{"transport ", r.Report.Transport, "tcp"}, {"build ", fmt.Sprintf("%.8s", b.Build), ""}, {"profile ", b.Profile, "tested"},
		{"runtime ", b.Runtime, "process"}, {"settings ", b.Differs, ""}, {"without ", strings.Join(r.Report.LeftOut, ", "), ""},
	} {
		if o.value != "" && o.value != o.usual {
			others = append(others, o.name+o.value)
		}
	}
	return Setup{
		Scenario: r.Name(), SHA256: r.Report.Scenario.SHA256, Protocol: r.Protocol, Tier: r.Tier, SDK: r.SDK, Broker: r.broker(), Nodes: r.Nodes, Else: strings.Join(others, "; "),
	}
}

// byHand reports whether the run is an exploration. None repeats another.
func (r Run) byHand() bool { return r.Scenario == "" }

// starved reports whether the host kept the harness from running for so long that nothing
// late is anybody's fault.
func (r Run) starved() bool { return r.Report.Coverage.HostStarvedS > verdict.MaxStarvedS }

// told reports whether a claim that the run holds is held on a calm host, and with each
// fault in place.
func (r Run) told() bool {
	state := r.Report.Verdict.State
	missed := slices.ContainsFunc(r.Report.Landings, func(l history.Landing) bool { return l.State != history.Landed })
	return (state.Failed() || state.ExitCode() == 0) && !missed && !r.starved() && len(r.Report.Harness) == 0
}

// without reports whether the run could have shown a violation of a claim, and did not.
// Older verdicts do not list the kinds of all violations.
func (r Run) without(claim, kind string) bool {
	i := slices.IndexFunc(r.Report.Verdict.Results, func(of verdict.Result) bool { return of.Claim.Name == claim })
	if i < 0 || !r.told() {
		return false
	}
	result := r.Report.Verdict.Results[i]
	if result.Status == verdict.Fail {
		return len(result.Violations) > 0 && !slices.ContainsFunc(result.Violations, func(v verdict.Violations) bool { return v.Kind == kind })
	}
	return result.Status == verdict.Pass
}

// A violation is violations of one kind in one run, by one party.
type violation struct {
	kind    string
	blame   verdict.Party // as the packets show it
	library string        // of the client; "" where the report does not tell
	count   int64
	example string
	listed  bool // and not counted
}

// violations of a failed claim, as the report has them.
func (r Run) violations(result verdict.Result) (list []violation) {
	for _, v := range r.Report.Violations {
		if v.Claim == result.Claim.Name {
			list = append(list, violation{kind: v.Kind, blame: v.Blame, library: r.library(v.SDK), count: v.Count, example: example(result, v.Kind, v.Blame)})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, a := range result.Anomalies { // of a report that counts none
		list = append(list, violation{kind: a.Kind, blame: a.Blame, library: r.library(""), count: 1, example: a.Text, listed: len(result.Violations) == 0})
	}
	if len(list) == 0 {
		list = append(list, violation{kind: "failed", library: r.library(""), count: 1, example: result.Summary, listed: true})
	}
	return list
}

// library is that of a client, without its version: the run's own where it has one alone.
func (r Run) library(sdk string) string {
	if sdk == "" && len(r.Report.SDKs) == 1 {
		sdk = r.Report.SDKs[0].Name
	}
	name, _, _ := strings.Cut(sdk, "@")
	return name
}

// example is the first violation of a kind that is blamed on a party.
func example(r verdict.Result, kind string, blame verdict.Party) string {
	for _, a := range r.Anomalies {
		if a.Kind == kind && a.Blame == blame {
			return a.Text
		}
	}
	return r.Summary
}

// decided is whom comparisons blame for the failure of a claim in a run, by both. They
// are joined with the report of one run, and decide about several.
type decided map[[2]string]verdict.Party

func decisions(runs []Run) decided {
	out := decided{}
	for _, r := range runs {
		if r.Report == nil || r.Report.Blame == nil {
			continue
		}
		for _, a := range r.Report.Blame.Attributions {
			party := a.Cause.Party()
			if party == verdict.Undecided {
				continue
			}
			for _, run := range a.Runs {
				for _, claim := range a.Claims {
					key := [2]string{run, claim}
					if cmp.Or(out[key], party) != party { // each for some of it, or two that contradict each other
						party = verdict.Undecided
					}
					out[key] = party
				}
			}
		}
	}
	return out
}
