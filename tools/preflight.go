package tools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// PreflightAnswer is the abilities of this host, the things it lacks, and the operator's limits.
type PreflightAnswer struct {
	Answer
	Isolation string    `json:"isolation"`
	Flavors   []string  `json:"flavors"` // that can be started here
	SDKs      []string  `json:"sdks"`    // that can be used here, a line for each language
	Faults    []string  `json:"faults"`  // that can be injected here and are allowed, a line for each thing that has to be armed for them
	Missing   []Missing `json:"missing"`
	Limits    string    `json:"limits"` // of the operator, in words

	Fault  *experiment.FaultMeans `json:"fault,omitempty"`  // the one that was named
	Detail any                    `json:"detail,omitempty"` // a [PreflightDetail], which no schema spells out: it would be half of this one
}

// PreflightDetail is all that is known of the host, and the operator's limits whole.
type PreflightDetail struct {
	experiment.Preflight
	Envelope envelope.Envelope `json:"envelope"`
}

// Missing is one thing that this host lacks.
type Missing struct {
	Thing   string   `json:"thing"`             // and why it is not there
	Costs   []string `json:"costs"`             // the flavors, SDKs and faults that cannot be had without it
	Install string   `json:"install,omitempty"` // the line that brings it
}

func (a *agent) preflight() Tool {
	type args struct {
		Fault  string `json:"fault"`
		Detail bool   `json:"detail"`
	}
	t := Tool{
		Name:        "preflight",
		Description: "Flavors, SDKs and faults of this host, the lines that install the missing ones, and the operator's limits.",
		Params: []Param{
			{Name: "fault", Type: String, About: "one, with its parameters", Example: `"kill"`},
			{Name: "detail", Type: Boolean, About: "all of it, long"},
		},
		Example: `{}`,
		Hints:   Hints{ReadOnly: true},
	}
	return handler(t, func(ctx context.Context, call *Call, in args) (PreflightAnswer, error) {
		if in.Fault != "" {
			if err := a.knownFault(in.Fault); err != nil {
				return PreflightAnswer{}, err
			}
		}
		host, err := a.backend.Preflight(ctx)
		if err != nil {
			return PreflightAnswer{}, fmt.Errorf("look at the host: %w", err)
		}
		out := PreflightAnswer{
			Isolation: host.Isolation, Flavors: a.flavors(host.Flavors), SDKs: byLanguage(host.SDKs), Faults: []string{},
			Missing: missing(host), Limits: limitsOf(a.envelope),
		}
		can := 0
		for _, f := range host.Faults {
			if f.Type == in.Fault {
				out.Fault = &f
			}
			if f.OK && a.allows(f.Type) {
				can++
				out.Faults = onLine(out.Faults, "arm "+cmp.Or(f.Arms, "nothing")+": ", f.Type)
			}
		}
		if in.Detail {
			out.Detail = PreflightDetail{host, a.envelope}
		}
		out.Answer = answer(fmt.Sprintf("isolation %s; %d of %s, %d of %s and %d of %s can be had here, within the operator's limits", host.Isolation,
			len(out.Flavors), plural(len(host.Flavors), "flavor"), len(able(host.SDKs)), plural(len(host.SDKs), "SDK"), can, plural(len(host.Faults), "fault")),
			"list_scenarios", "preflight with fault, for its parameters")
		return out, nil
	})
}

func (a *agent) knownFault(kind string) error {
	if contains(a.backend.Faults, kind) {
		return nil
	}
	return fmt.Errorf("no fault %q%s. Nothing was changed", kind, near.Hint(kind, a.backend.Faults, "; there are "+joined(a.backend.Faults)))
}

// able are the names of those that this host has.
func able(list []experiment.Ability) []string {
	names := []string{}
	for _, ability := range list {
		if ability.OK {
			names = append(names, ability.Name)
		}
	}
	return names
}

// byLanguage puts the SDKs that this host has, named lang/package@version, on a line for
// each language and protocols, with the versions of a package behind one another.
func byLanguage(sdks []experiment.Ability) []string {
	lines, last := []string{}, ""
	for _, sdk := range sdks {
		if !sdk.OK {
			continue
		}
		lang, library, _ := strings.Cut(sdk.Name, "/")
		name, version, _ := strings.Cut(library, "@")
		head := fmt.Sprintf("%s, %s: ", lang, strings.ReplaceAll(sdk.Detail, ", ", "+"))
		at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, head) })
		if at >= 0 && last == head+name {
			lines[at] += " " + version
			continue
		}
		lines, last = onLine(lines, head, library), head+name
	}
	return lines
}

// flavors are those that this host has and the operator allows.
func (a *agent) flavors(host []experiment.Ability) []string {
	return slices.DeleteFunc(able(host), func(name string) bool {
		if cluster.FlavorNamed(name).Foreign { // which an endpoint permits
			return len(a.envelope.AllowedEndpoints) == 0
		}
		return a.envelope.Cluster(cluster.Config{Flavor: name}) != nil
	})
}

// allows reports whether the operator allows a fault.
func (a *agent) allows(fault string) bool {
	return a.envelope.AllowedFaults == nil || contains(a.envelope.AllowedFaults, fault)
}

// onLine adds an item to the line with that head.
func onLine(lines []string, head, item string) []string {
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, head) })
	if at < 0 {
		return append(lines, head+item)
	}
	lines[at] += ", " + item
	return lines
}

// missing is all that a host lacks, each thing once.
func missing(host experiment.Preflight) []Missing {
	list := []Missing{}
	add := func(thing, install, costs string) {
		at := slices.IndexFunc(list, func(m Missing) bool { return m.Thing == thing && m.Install == install })
		if at < 0 {
			at = len(list)
			list = append(list, Missing{Thing: thing, Costs: []string{}, Install: install})
		}
		if costs != "" {
			list[at].Costs = append(list[at].Costs, costs)
		}
	}
	for _, ability := range host.Abilities {
		if !ability.OK {
			add(plain.CutBytes(ability.Name+": "+ability.Detail, whyShown), ability.Install, "")
		}
	}
	for _, f := range host.Flavors {
		if !f.OK {
			add(plain.CutBytes(f.Name+": "+f.Detail, whyShown), f.Install, "flavor "+f.Name)
		}
	}
	for _, sdk := range host.SDKs {
		if !sdk.OK {
			add(sdk.Install, "", "SDK "+sdk.Name)
		}
	}
	for _, f := range host.Faults {
		if !f.OK {
			add(f.Missing, "", "fault "+f.Type)
		}
	}
	return list
}

// limitsOf are the operator's limits that an agent plans by, in words.
func limitsOf(e envelope.Envelope) string {
	text := fmt.Sprintf("%s at once of %s, %s at once of %s s each", plural(e.MaxExperiments, "experiment"), plural(e.MaxNodes, "node"), plural(e.MaxConcurrentFaults, "fault"), number(e.MaxFaultDurationS))
	if e.MaxTotalFaultS > 0 {
		text += fmt.Sprintf(" and %s s in an experiment", number(e.MaxTotalFaultS))
	}
	if !e.AllowMajority {
		text += ", never on more than half of the nodes"
	}
	if e.AllowedFaults != nil {
		text += "; no fault but " + joined(e.AllowedFaults)
	}
	if e.AllowedTargets != nil {
		text += "; no target but " + joined(e.AllowedTargets)
	}
	text += "; flavors: " + joined(e.AllowedFlavors) + "; runtimes: " + joined(e.AllowedRuntimes)
	if len(e.AllowedBrokers) > 0 {
		text += "; broker: " + joined(e.AllowedBrokers)
	}
	if len(e.AllowedEndpoints) > 0 {
		text += "; endpoints: " + joined(e.AllowedEndpoints)
	}
	return text + "; reports go to " + joined(e.Push)
}
