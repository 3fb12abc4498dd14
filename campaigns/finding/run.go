package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Run is a stored run.
type Run struct {
	reports.Row
	Report     *reports.Report // nil of a run that no finding needs
	Repeatable bool            // it is stored how it was started
}

// is reports whether a person or a comparison means this run. A published run may have
// been given a shorter name.
func (r Run) is(id string) bool { return r.ID == id || r.Report.ID == id }

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
		{"transport ", r.Report.Transport, "tcp"}, {"profile ", b.Profile, "tested"},
		{"runtime ", b.Runtime, "process"}, {"", r.Report.Cluster.Isolation, "namespaces"}, {"without ", strings.Join(r.Report.LeftOut, ", "), ""},
		{"published ", r.Report.Lowered, ""}, {"settings ", b.Differs, ""},
	} {
		if o.value != "" && o.value != o.usual {
			others = append(others, o.name+o.value)
		}
	}
	return Setup{
		Scenario: r.Name(), SHA256: r.Report.Scenario.SHA256, Protocol: r.Protocol, Tier: r.Tier, SDK: r.SDK, Broker: r.broker(), Build: fmt.Sprintf("%.8s", b.Build), Nodes: r.Nodes, Else: strings.Join(others, "; "),
	}
}

// byHand reports whether the run is an exploration. None repeats another.
func (r Run) byHand() bool { return r.Scenario == "" }

// starved reports whether the host kept the harness from running for so long that nothing
// late is anybody's fault.
func (r Run) starved() bool { return r.Report.Coverage.HostStarvedS > verdict.MaxStarvedS }

// told reports whether the run counts, whatever it shows.
func (r Run) told() bool { return r.Report.Counts() }

// clean reports whether a run that counts lacks nothing but what its violations bring
// about: without them it had passed.
func (r Run) clean() bool {
	return r.told() && !slices.ContainsFunc(r.Report.Shortfalls, func(s verdict.Shortfall) bool { return s.State() != verdict.PassSmoke })
}

// result is what the run found about a claim; nil if it did not judge it.
func (r Run) result(claim string) *verdict.Result {
	i := slices.IndexFunc(r.Report.Verdict.Results, func(of verdict.Result) bool { return of.Claim.Name == claim })
	if i < 0 {
		return nil
	}
	return &r.Report.Verdict.Results[i]
}

// A violation is what one run shows of one claim: violations of one kind, by one party.
type violation struct {
	kind    string
	place   string        // of a panic
	blame   verdict.Party // as the packets show it
	library string        // of the client; "" where the report does not tell
	count   int64
	example string
	listed  bool // and not counted
}

// violations of a failed claim, as the report has them.
func (r Run) violations(result verdict.Result) (list []violation) {
	for _, v := range r.Report.Violations {
		switch {
		case v.Claim != result.Claim.Name:
		case v.Kind == verdict.KindPanic && len(r.Report.Panics) > 0:
			list = r.panics()
			for i := range list {
				list[i].listed = r.Report.PanicsCut
			}
		default:
			list = append(list, violation{kind: v.Kind, blame: v.Blame, library: r.library(result.Claim, v.SDK), count: v.Count, example: example(v, result)})
		}
	}
	if len(list) > 0 {
		return list
	}
	for _, a := range result.Anomalies { // of a report that counts none
		list = append(list, violation{kind: a.Kind, blame: a.Blame, library: r.library(result.Claim, ""), count: 1, example: a.Text, listed: true})
	}
	if len(list) == 0 {
		list = append(list, violation{kind: "failed", library: r.library(result.Claim, ""), count: 1, example: result.Summary, listed: true})
	}
	return list
}

// example is the first of some violations, as the report or the verdict lists it.
func example(v reports.Violations, r verdict.Result) string {
	if len(v.Examples) > 0 {
		return v.Examples[0].Text
	}
	for _, a := range r.Anomalies {
		if a.Kind == v.Kind && a.Blame == v.Blame {
			return a.Text
		}
	}
	return ""
}

// library is that of a client, without its version. A claim on the library is about the
// one that the run was asked for. Else it is the run's own where it has one alone.
func (r Run) library(claim verdict.Claim, sdk string) string {
	if claim.Of == verdict.SDK && sdk == "" {
		if _, after, named := strings.Cut(r.Report.Reproduce, " --sdk "); named {
			sdk, _, _ = strings.Cut(after, " ")
		}
	}
	if sdk == "" {
		for _, s := range r.Report.SDKs {
			if sdk != "" && s.Name != sdk {
				return ""
			}
			sdk = s.Name
		}
	}
	name, _, _ := strings.Cut(sdk, "@")
	return name
}

// decided is the party that comparisons blame for the failure of a claim in a run. It is
// undecided where two of them disagree. One by the packets is of the runs whose packets show
// it, and their reports say so themselves.
type decided map[decision]verdict.Party

// A decision is about one claim in one run.
type decision struct{ run, claim string }

// decisions are those of all comparisons: each is joined with the report of one run, and
// decides about several.
func decisions(runs []Run) decided {
	out := decided{}
	for _, r := range runs {
		if r.Report == nil {
			continue
		}
		if r.Report.Blame != nil {
			out.add(r.Report.Blame.Attributions)
		}
		if r.Report.Matrix != nil {
			out.add(r.Report.Matrix.Attributions)
		}
	}
	return out
}

func (d decided) add(attributions []reports.Attribution) {
	for _, a := range attributions {
		party := a.Cause.Party()
		if party == verdict.Undecided || a.Proof == campaigns.ProofWire {
			continue
		}
		for _, run := range a.Runs {
			for _, claim := range a.Claims {
				of := decision{run, claim}
				if known := d[of]; known != "" && known != party {
					d[of] = verdict.Undecided
				} else {
					d[of] = party
				}
			}
		}
	}
}
