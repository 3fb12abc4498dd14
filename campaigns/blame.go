package campaigns

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/shrink"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Referees of a run alone. The others are those of a matrix, too.
const (
	RefereeSDK      = "sdk"       // another client library
	RefereeNoFaults = "no-faults" // the run without its faults
)

// A Variation is the single difference between a run and the run that failed.
// The results of both together tell the cause of the failure. The zero value
// differs in nothing.
type Variation struct {
	Referee  string `json:"referee,omitempty"`   // what it is run for
	SDK      string `json:"sdk,omitempty"`       // the other library
	Flavor   string `json:"flavor,omitempty"`    // the control broker
	Tap      bool   `json:"tap,omitempty"`       // the packets are recorded
	NoFaults bool   `json:"no_faults,omitempty"` // the workload alone
	OffNodes bool   `json:"off_nodes,omitempty"` // without the faults on nodes
	Round    int64  `json:"round,omitempty"`     // of a series whose rounds have a seed each: that many on from the first
	Of       int    `json:"of,omitempty"`        // of a series: for which of its runs it was added, counted from 1
	Also     string `json:"also,omitempty"`      // a difference that comes with it
}

// others are the languages whose libraries a failure is varied in: first the one whose
// drivers need nothing of the host.
var others = [...]string{"go", "python"}

// VariationsOf are what a failure is varied in, all that the run allows: nothing,
// whether packets are recorded, the faults, the client library, the broker. The
// library is sdk, or one of ours where that is "".
func VariationsOf(r Recipe, sdk string, crashes bool) ([]Variation, error) {
	list := []Variation{{Referee: RefereeAgain}}
	protocol := r.Run.Protocol
	tcp := r.Start.Transport == "" || r.Start.Transport == "tcp"
	tap := protocol != contract.MQ9 && tcp && !slices.Contains(r.Start.Cluster.Arm, cluster.ArmTap)
	if tap {
		list = append(list, Variation{Referee: RefereeTap, Tap: true})
	}
	if len(r.Run.Faults) > 0 && slices.ContainsFunc(r.Wanted, judgedWithoutFaults) {
		v := Variation{Referee: RefereeNoFaults, NoFaults: true, Tap: tap} // so that it can be said whose doing its failure is
		if tap {
			v.Also = "the packets recorded"
		}
		list = append(list, v)
	}
	for _, lang := range others {
		other, err := clients.ResolveFor(lang, protocol)
		if sdk == "" && err == nil && !strings.Contains(r.Run.SDK, library(other.String())+"@") {
			sdk = library(other.String())
		}
	}
	found, err := clients.ResolveFor(sdk, protocol)
	if err != nil {
		return nil, fmt.Errorf("vary the client library of run %s: %w", r.Run.ID, err)
	}
	if strings.Contains(r.Run.SDK, library(found.String())+"@") {
		return nil, fmt.Errorf("vary the client library of run %s: %s is the one that it used; name another, `rmq-mcp sdks list` shows them", r.Run.ID, library(found.String()))
	}
	list = append(list, Variation{Referee: RefereeSDK, SDK: found.String()})
	if flavor := ControlFlavor(r.Run.Cluster.Flavor, protocol, crashes); flavor != "" && offNodes(r) {
		v := Variation{Referee: RefereeControl, Flavor: flavor, Also: besides(r, flavor)}
		v.NoFaults, v.OffNodes = r.Start.NoFaults, len(r.Run.LeftOut) > 0 // it has no more faults than the run had
		list = append(list, v)
	}
	return list, nil
}

// offNodes reports whether a run was without faults of its scenario exactly as one that leaves
// out all on nodes, if it was without any: a control can be no other.
func offNodes(r Recipe) bool {
	if len(r.Run.LeftOut) == 0 {
		return true
	}
	s, err := scenarios.Parse(r.Run.Scenario, []byte(r.Text))
	if err != nil {
		return false
	}
	_, words := s.OffNodes()
	return slices.Equal(words, r.Run.LeftOut)
}

// judgedWithoutFaults reports whether a claim can fail in a run without faults.
func judgedWithoutFaults(f Failure) bool {
	e, err := checker.Find(f.Claim)
	return err == nil && !e.ByFault
}

// besides is what a control broker differs in beside being another one.
func besides(r Recipe, flavor string) string {
	var list []string
	if nodes := r.Run.Cluster.Nodes; cluster.FlavorNamed(flavor).OwnSize && nodes > 1 {
		list = append(list, fmt.Sprintf("one node in place of %d", nodes))
	}
	if len(r.Start.Cluster.Settings) > 0 {
		list = append(list, "without the settings")
	}
	return strings.Join(list, ", ")
}

// Apply returns the start of a run that differs in this variation alone from a run
// started by start.
func (v Variation) Apply(start keeper.Start) keeper.Start {
	if v.SDK != "" {
		start.SDK = v.SDK
	}
	if v.Flavor != "" {
		start.Cluster = ControlCluster(start.Cluster, v.Flavor)
	}
	start.NoFaults, start.OffNodes = start.NoFaults || v.NoFaults, start.OffNodes || v.OffNodes
	start.Seed += v.Round
	if v.Tap {
		start.Cluster.Arm = cluster.WithArms(start.Cluster.Arm, cluster.ArmTap)
	}
	return start
}

// ControlCluster is the cluster of a control broker: it has nothing of the
// other's configuration but its size and what was asked to be armed.
func ControlCluster(of cluster.Config, flavor string) cluster.Config {
	pods := func(arm string) bool { return arm == cluster.ArmChaosMesh }
	c := cluster.Config{Flavor: flavor, Arm: slices.DeleteFunc(slices.Clone(of.Arm), pods)}
	if !cluster.FlavorNamed(flavor).OwnSize {
		c.Nodes = of.Nodes
	}
	return c
}

// String names a variation in a line for people.
func (v Variation) String() string {
	var parts []string
	if v.SDK != "" {
		parts = append(parts, "with "+v.SDK)
	}
	switch {
	case v.Referee == RefereeAgain:
		parts = append(parts, "all the same")
	case v.Referee == RefereeTap:
		parts = append(parts, "with the packets recorded")
	case v.Referee == RefereeControl:
		parts = append(parts, "on the control broker, "+v.Flavor)
	case v.NoFaults:
		parts = append(parts, "without the faults")
	}
	if v.Also != "" {
		parts = append(parts, "("+v.Also+")")
	}
	if len(parts) == 0 {
		return "all the same"
	}
	return strings.Join(parts, " ")
}

// Blame makes a run of each variation that was not made before, and answers what
// all of them show together. It ends as [JobDir.Replay] does.
func (d *JobDir) Blame(ctx context.Context, backend Backend) (Result, error) {
	todo := d.Job.Variations
	soFar := func() Result { return d.soFar(len(todo) + len(d.Job.Added)) }
	if err := d.controls(ctx, backend, todo, soFar); err != nil {
		return soFar(), err
	}
	r, err := d.blamed(backend)
	if err != nil {
		return r, err
	}
	r.Ended = true
	if err := backend.JoinBlame(d.Job.Dir, d.decision(r, d.Job.RunID)); err != nil { // of a run of long ago, or of somebody else
		r.Comparison.Notes = append(r.Comparison.Notes, fmt.Sprintf("the report of run %s does not say so: %v", d.Job.RunID, err))
	}
	return r, d.Save(r)
}

// maxControls is the most runs on the control broker that a job makes.
const maxControls = 6

// controls makes what is left of the runs. Then it adds runs on the control broker, as many as
// are lacking before the failure can be the broker's.
func (d *JobDir) controls(ctx context.Context, backend Backend, todo []Variation, soFar func() Result) error {
	for {
		all := slices.Concat(todo, d.Job.Added)
		if err := d.makeRuns(ctx, backend, all, soFar); err != nil {
			return err
		}
		var made []Variation
		held := false
		for i, t := range d.Trials {
			if all[i].Referee == RefereeControl {
				made, held = append(made, all[i]), held || t.Answer == shrink.Passes
			}
		}
		if !held || len(d.Trials) < len(all) || len(made) >= maxControls {
			return nil
		}
		c, err := d.compareRuns(backend)
		if err != nil {
			return err
		}
		lacking := 0
		for _, a := range c.Attributions {
			lacking = max(lacking, a.Controls)
		}
		if lacking == 0 || len(made)+lacking > maxControls {
			return nil
		}
		for i := range lacking {
			d.Job.Added = append(d.Job.Added, made[i%len(made)])
		}
		if err := d.rewrite(); err != nil {
			return err
		}
	}
}

// compareRuns compares the run and its variations, as far as they differ in what is asked; of a
// series in anything.
func (d *JobDir) compareRuns(backend Backend) (Comparison, error) {
	cells, _, err := readRuns(backend, d.judgedRuns())
	if err != nil {
		return Comparison{}, err
	}
	c := Compare(cells)
	c.Attributions = slices.DeleteFunc(c.Attributions, func(a reports.Attribution) bool {
		asked := func(claim string) bool { return slices.Contains(d.Job.Wanted.Claims(), claim) }
		return len(d.Job.Wanted) > 0 && !slices.ContainsFunc(a.Claims, asked)
	})
	c.Headline = headline(c)
	return c, nil
}

// decision is what came of it, for the report of a run.
func (d *JobDir) decision(r Result, run string) reports.Blame {
	b := reports.Blame{Headline: d.whose(run, *r.Comparison), Experiments: []reports.Experiment{}, Attributions: r.Comparison.Attributions, Open: r.Comparison.Notes}
	for _, t := range d.Trials {
		e := reports.Experiment{What: t.Varied, RunID: t.RunID, State: t.State, Shows: "nothing: " + t.Why}
		switch t.Answer {
		case shrink.Fails:
			e.Shows = d.shows(t)
		case shrink.Passes:
			e.Shows = "it does not fail so"
		}
		b.Experiments = append(b.Experiments, e)
	}
	return b
}

// whose says whose doing the failure of a run is. Beside it stands what other runs show, with
// their library and broker.
func (d *JobDir) whose(run string, c Comparison) string {
	differ := "that differ in one thing"
	if d.Job.Kind == Series {
		differ = "of its series"
	}
	var own, others []string
	for _, a := range c.Attributions {
		words := strings.TrimPrefix(fmt.Sprintf("%s: %s", strings.Join(a.Claims, ", "), a.Words()), ": ")
		if slices.Contains(a.Runs, run) {
			own = append(own, words)
		} else {
			others = append(others, fmt.Sprintf("%s, with %s on %s", words, a.Versions, a.Broker))
		}
	}
	if len(own) == 0 {
		own = []string{"whose doing it is could not be told"}
	}
	text := fmt.Sprintf("run %s and %d %s: %s", run, len(d.judgedRuns())-1, differ, strings.Join(own, "; "))
	if len(others) > 0 {
		text += "; of other runs: " + strings.Join(others, "; ")
	}
	return text
}

// shows says which of the claims that failed in the run fail in a trial again. A series
// has no such run.
func (d *JobDir) shows(t Trial) string {
	var again, held []string
	for _, f := range d.Job.Wanted {
		if t.Failed.has(f) {
			again = append(again, f.Claim)
		} else {
			held = append(held, f.Claim)
		}
	}
	switch {
	case len(d.Job.Wanted) == 0:
		return "it fails in " + strings.Join(t.Failed.Claims(), ", ")
	case len(held) == 0:
		return "it fails so again"
	}
	return fmt.Sprintf("it fails again in %s, not in %s", strings.Join(again, ", "), strings.Join(held, ", "))
}

// blamed compares the run and its variations.
func (d *JobDir) blamed(backend Backend) (Result, error) {
	r := d.result(false)
	c, err := d.compareRuns(backend)
	if err != nil {
		return r, err
	}
	for _, t := range d.Trials {
		if t.Why != "" {
			c.Notes = append(c.Notes, fmt.Sprintf("the run %s shows nothing: %s", t.Varied, t.Why))
		}
	}
	r.Comparison, r.Table = &c, &c.Table
	r.Headline = d.whose(d.Job.RunID, c)
	return r, nil
}

// Lines are what is attributed, each in a sentence. Where there are several brokers, it
// names its own.
func (c Comparison) Lines() (list []string) {
	several := slices.ContainsFunc(c.Attributions, func(a reports.Attribution) bool { return a.Broker != c.Attributions[0].Broker })
	for _, a := range c.Attributions {
		line := fmt.Sprintf("%s: %s: %s", strings.Join(a.Claims, ", "), a.Words(), a.Text)
		if len(a.Claims) == 0 {
			line = fmt.Sprintf("%s: %s", a.Words(), a.Text)
		}
		if several {
			line += ", on " + a.Broker
		}
		if a.Issue != "" {
			line += "; known upstream: " + a.Issue
		}
		list = append(list, line)
	}
	return list
}
