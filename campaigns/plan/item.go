package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// An Item is a scenario of a frozen plan, with all that decides whether a run is
// an attempt of it and how that is judged.
type Item struct {
	ID       string                 `json:"id"`
	Scenario string                 `json:"scenario"` // its name
	SHA      string                 `json:"scenario_sha256"`
	Text     string                 `json:"scenario_text"`
	Model    Model                  `json:"model"`             // nothing left to default
	Config   map[string]any         `json:"config,omitempty"`  // the broker's, as nodes get it; none where it is somebody else's
	Claims   []Judge                `json:"claims"`            // all that are judged
	Faults   []history.PlannedFault `json:"faults,omitempty"`  // that have to land
	Budget   history.Budget         `json:"budget"`            // that a run of it is judged by
	Without  string                 `json:"without,omitempty"` // faults of the scenario that cannot be done on the broker, in words

	hidden map[string]string // claims of the scenario that no run of the model can be judged by, each with the reason
}

// A Judge is a claim and the checker that decides it.
type Judge struct {
	Claim   string `json:"claim"`
	Checker string `json:"checker"` // name and version
}

func (it *Item) judges(claim string) bool {
	return slices.ContainsFunc(it.Claims, func(j Judge) bool { return j.Claim == claim })
}

// expectedS is about how long an attempt takes, 0 where this program cannot tell
// any more.
func (it *Item) expectedS() float64 {
	s, err := scenarios.Parse(it.Scenario, []byte(it.Text))
	if err != nil {
		return 0
	}
	run, tier, _, err := it.runs(s)
	if err != nil {
		return 0
	}
	return run.ExpectedS(tier)
}

// runs is a scenario and the tier of it, as runs of the model have them, and in words how
// their load is lowered, "" where it is not.
func (it *Item) runs(s *scenarios.Scenario) (run *scenarios.Scenario, t scenarios.Tier, lowered string, err error) {
	c := it.Model.Cluster()
	run = s.On(c)
	if t, err = run.Tier(it.Model.Tier, it.Model.Flavor); err != nil {
		return nil, t, "", err
	}
	run, t, _, lowered = run.Spared(c, t)
	return run, t, lowered, nil
}

func (it *Item) claimNames() (names []string) {
	for _, j := range it.Claims {
		names = append(names, j.Claim)
	}
	return names
}

// overlaps reports whether one run could be an attempt of two items.
func (it *Item) overlaps(other *Item) bool {
	a, b := it.Model, other.Model
	shared := len(a.Seeds) == 0 || len(b.Seeds) == 0 || slices.ContainsFunc(a.Seeds, func(seed int64) bool { return slices.Contains(b.Seeds, seed) })
	a.Seeds, a.Attempts, b.Seeds, b.Attempts = nil, 0, nil, 0
	return shared && it.SHA == other.SHA && len(changed(a, b)) == 0
}

// Cluster is what the nodes of an item are.
func (m Model) Cluster() cluster.Config {
	c := cluster.Config{Flavor: m.Flavor, Nodes: m.Nodes, Profile: m.Profile, Runtime: m.Runtime, Version: m.Version, Settings: m.Settings}
	if c.Foreign() && m.Protocol == contract.MQ9 {
		c.Protocol = m.Protocol
	}
	return c
}

func (l *linter) scenarios() {
	if len(l.plan.Scenarios) == 0 {
		l.gap("scenarios", "those to run, each with id, scenario and model", "there is none")
	}
	for i, s := range l.plan.Scenarios {
		where := fmt.Sprintf("scenarios %d", i+1)
		if _, twice := l.items[s.ID]; twice || !nameForm.MatchString(strings.ToLower(s.ID)) {
			l.gap(where, fmt.Sprintf("an id of its own, such as S%d", i+1), "its id %q names nothing alone", s.ID)
			continue
		}
		had := len(l.gaps)
		it := l.item("scenarios "+s.ID, s)
		for _, other := range l.list {
			if other.overlaps(&it) {
				l.gap("scenarios "+s.ID, "seeds of its own, or one of the two with all attempts", "a run of it would be one of %s, too", other.ID)
			}
		}
		if l.items[s.ID] = nil; len(l.gaps) == had {
			l.list = append(l.list, it)
			l.items[s.ID] = &it
		}
	}
}

// item resolves one scenario.
func (l *linter) item(where string, s Scenario) Item {
	it := Item{ID: s.ID, Model: s.Model}
	found, err := l.site.Load(s.Scenario)
	if err != nil {
		l.gap(where+": scenario", "one that there is, by its name", "%v", err)
		return it
	}
	it.Scenario, it.SHA, it.Text = found.Name, found.SHA, found.Text
	l.broker(where+": model", &it, found)
	l.client(where+": model", &it, found)
	it.judge(found)
	if len(l.plan.Claims) > 0 && !slices.ContainsFunc(l.plan.Claims, it.judges) {
		l.gap(where, "one that does, or a claim of "+strings.Join(it.claimNames(), ", "), "%s judges none of the plan's claims%s", it.Scenario, it.why(l.plan.Claims...))
	}
	l.attempts(where+": model", it.Model)
	l.tier(where+": model", &it, found)
	return it
}

// judge resolves the claims that runs of the model are judged by.
func (it *Item) judge(s *scenarios.Scenario) {
	m := it.Model
	lacks := m.Cluster().Lacks()
	if m.Cluster().Foreign() {
		delete(lacks, history.LacksProcesses) // a run may name them
	}
	sdk, _ := clients.ResolveFor(m.SDK, m.Protocol) // where there is none, that is a gap already
	it.hidden = s.Hidden(scenarios.Conditions{
		SDK: sdk, Protocol: m.Protocol, Transport: m.Transport,
		Cluster: history.ClusterInfo{Flavor: m.Flavor, Nodes: m.Nodes, Lacks: lacks},
	})
	for _, name := range s.Claims {
		if e, err := checker.Find(name); err == nil && it.hidden[name] == "" {
			it.Claims = append(it.Claims, Judge{name, e.Checker})
		}
	}
}

// why says for the first of some claims in what way the model keeps its runs from being
// judged by it; "" where it keeps them from none.
func (it *Item) why(claims ...string) string {
	for _, claim := range claims {
		if reason := it.hidden[claim]; reason != "" {
			return fmt.Sprintf(": %s cannot be seen on %s: %s", claim, it.Model.words(), reason)
		}
	}
	return ""
}

// broker resolves what the nodes are.
func (l *linter) broker(where string, it *Item, s *scenarios.Scenario) {
	m := &it.Model
	m.Profile, m.Runtime = cmp.Or(m.Profile, cluster.ProfileTested), cmp.Or(m.Runtime, cluster.RuntimeProcess)
	m.Protocol, m.Transport = cmp.Or(m.Protocol, s.Protocol), cmp.Or(m.Transport, "tcp")
	if m.Flavor == "" {
		l.gap(where+".flavor", fmt.Sprintf("what the nodes are, such as flavor: %s", cmp.Or(s.Cluster.Flavor, cluster.DefaultFlavor)), "it is empty")
		return
	}
	if m.Nodes < 1 {
		l.gap(where+".nodes", fmt.Sprintf("nodes: %d, or how many are meant", max(s.Cluster.Nodes, 1)), "the size of the cluster is missing")
		return
	}
	if runtimes := cluster.RuntimeNames(); !slices.Contains(runtimes, m.Runtime) {
		l.gap(where+".runtime", strings.Join(runtimes, " or "), "there is no runtime %q", m.Runtime)
	}
	if m.Version != "" && !cluster.FlavorNamed(m.Flavor).Versions {
		l.gap(where+".version", "none, or flavor: "+strings.Join(cluster.FlavorNames(cluster.Versioned), " or "), "%s has no versions to choose from", m.Flavor)
	}
	var err error
	if it.Config, err = cluster.Effective(m.Cluster()); err != nil {
		l.gap(where, "what is valid", "%v", err)
	} else if err := s.RunsOn(m.Flavor, m.Protocol); err != nil {
		l.gap(where+".protocol", "one of its protocols, or a flavor with everything that the scenario needs", "%v", err)
	}
	if l.site.Envelope == nil {
		return
	}
	if err := l.site.Envelope.Cluster(m.Cluster()); err != nil {
		l.gap(where, "what the envelope allows", "%v", err)
	}
}

// client resolves the SDK and how it speaks.
func (l *linter) client(where string, it *Item, s *scenarios.Scenario) {
	m := &it.Model
	if !slices.Contains(s.Protocols(), m.Protocol) {
		l.gap(where+".protocol", strings.Join(s.Protocols(), " or "), "%s cannot be run with protocol %q", s.Name, m.Protocol)
		return
	}
	if m.SDK == "" {
		l.gap(where+".sdk", "sdk: "+s.SDK+", or another of `rmq-mcp list sdks`", "the client library is missing")
		return
	}
	sdk, err := clients.ResolveFor(m.SDK, m.Protocol)
	if err != nil {
		l.gap(where+".sdk", "sdk: "+s.SDK+", or another of `rmq-mcp list sdks`", "%v", err)
		return
	}
	m.SDK = sdk.String()
	if err := sdk.Carry(m.Transport); err != nil {
		l.gap(where+".transport", "one that it has", "%v", err)
	}
	if err := s.Suits(sdk); err != nil {
		l.gap(where+".sdk", "one that it can be run with", "%v", err)
	}
}

func (l *linter) attempts(where string, m Model) {
	unique := slices.Compact(slices.Sorted(slices.Values(m.Seeds)))
	switch {
	case len(m.Seeds) > 0 && m.Attempts > 0:
		l.gap(where, "seeds or attempts, not both", "both say how often it is run")
	case m.wanted() < 1:
		l.gap(where, "seeds: [11, 12, 13], or attempts: 3", "how often it is run is missing")
	case len(unique) < len(m.Seeds) || len(unique) > 0 && unique[0] < 1:
		l.gap(where+".seeds", "numbers from 1, each once", "%v repeat each other or name none", m.Seeds)
	case verdict.Hardens(m.Tier) && m.wanted() < verdict.Agreeing:
		l.gap(where, fmt.Sprintf("attempts: %d or as many seeds, or tier: smoke", verdict.Agreeing), "%d of tier %s cannot become PASS-hardening, which %d seeds have to agree on", m.wanted(), m.Tier, verdict.Agreeing)
	}
}

// tier resolves how much is run and by which bounds.
func (l *linter) tier(where string, it *Item, s *scenarios.Scenario) {
	m := it.Model
	var tiers []string
	for name := range s.Tiers {
		tiers = append(tiers, name)
	}
	slices.Sort(tiers)
	run, tier, lowered, err := it.runs(s)
	if m.Tier == "" || err != nil {
		l.gap(where+".tier", strings.Join(tiers, " or "), "%s has no tier %q", s.Name, m.Tier)
		return
	}
	it.Budget, it.Faults = run.Budget(tier), run.Planned(tier)
	capped := "" // why no run of it can pass without a cap
	if lowered != "" {
		capped = "they publish " + lowered
	}
	if without, _ := s.LeftOut(m.Cluster()); len(without) > 0 {
		it.Without = strings.Join(without, ", ")
		capped = "they are without its " + it.Without
	}
	switch {
	case s.Withheld(m.Cluster()):
		l.gap(where+".flavor", "a flavor whose nodes are ours, or a scenario without faults of nodes", "a plan names no pids or containers, and without them no fault of %s can be done on %s", s.Name, m.Flavor)
	case verdict.Hardens(m.Tier) && capped != "":
		l.gap(where+".tier", "tier: smoke, or a scenario file of your own to which that does not happen", "runs of %s on %s cannot become PASS-hardening: %s", s.Name, m.Flavor, capped)
	}
	if has := thresholdsOf(it.Budget); m.Thresholds != has {
		l.gap(where+".thresholds", has.String()+", or the name of a scenario file of your own that has others",
			"%s, but runs of %s at tier %s on %s are judged by others", m.Thresholds, s.Name, m.Tier, m.Flavor)
	}
	if l.site.Envelope == nil {
		return
	}
	if err := run.Within(*l.site.Envelope, tier); err != nil {
		l.gap(where, "a scenario without that fault", "%v", err)
	}
}

func thresholdsOf(b history.Budget) Thresholds {
	return Thresholds{RecoveryS: b.RecoveryS, ProgressS: b.ProgressS, ExpiryS: b.ExpiryS, Messages: b.Messages, Fair: b.Fair, Growth: b.Growth}
}

func (t Thresholds) String() string {
	expiry := ""
	if t.ExpiryS > 0 {
		expiry = fmt.Sprintf("expiry_s: %g, ", t.ExpiryS)
	}
	fair := ""
	if f := t.Fair; f != (history.Fair{}) {
		fair = fmt.Sprintf(", fair: {times: %g, floor_s: %g, share: %g, messages: %d}", f.Times, f.FloorS, f.Share, f.Messages)
	}
	growth := ""
	if g := t.Growth; g != (history.Growth{}) {
		growth = fmt.Sprintf(", growth: {memory_mib_per_h: %g, descriptors_per_h: %g, connections_per_h: %g, latency_percent_per_h: %g}", g.MemoryMiB, g.Descriptors, g.Connections, g.LatencyPercent)
	}
	return fmt.Sprintf("{recovery_s: %g, progress_s: %g, %smessages: %d%s%s}", t.RecoveryS, t.ProgressS, expiry, t.Messages, fair, growth)
}
