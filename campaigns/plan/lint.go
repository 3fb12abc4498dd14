package plan

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Gap is one thing that a plan lacks or has wrong.
type Gap struct {
	Where string `json:"where"` // scenarios S2: model.sdk
	What  string `json:"what"`
	Write string `json:"write"` // instead
}

func (g Gap) String() string { return fmt.Sprintf("%s: %s; write %s", g.Where, g.What, g.Write) }

// Gaps are why a plan cannot be frozen.
type Gaps []Gap

func (g Gaps) Error() string {
	lines := []string{fmt.Sprintf("the plan has %d gaps, and nothing was frozen:", len(g))}
	if len(g) == 1 {
		lines[0] = "the plan has a gap, and nothing was frozen:"
	}
	for _, gap := range g {
		lines = append(lines, "- "+gap.String())
	}
	return strings.Join(lines, "\n")
}

// A Site is where a plan is to be run.
type Site struct {
	Load     func(name string) (*scenarios.Scenario, error) // a scenario by what a plan calls it
	Envelope *envelope.Envelope                             // nil: of a person, who has none
}

var nameForm = regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`)

// Lint looks at all of a plan and answers it ready to be frozen, or a [Gaps].
func (s Site) Lint(p *Plan) (*Frozen, error) {
	l := &linter{site: s, plan: p, items: map[string]*Item{}}
	l.head()
	l.scenarios()
	l.claims()
	l.hypotheses()
	l.adequacy()
	l.budget()
	l.uncovered()
	if len(l.gaps) > 0 {
		return nil, l.gaps
	}
	return &Frozen{Format: format, Plan: *p, Items: l.list}, nil
}

type linter struct {
	site  Site
	plan  *Plan
	gaps  Gaps
	list  []Item           // of the scenarios that are sound
	items map[string]*Item // by id; nil for one with a gap of its own
}

func (l *linter) gap(where, write, what string, args ...any) {
	l.gaps = append(l.gaps, Gap{where, fmt.Sprintf(what, args...), write})
}

func (l *linter) head() {
	if !nameForm.MatchString(l.plan.Name) {
		l.gap("name", "one such as leader-crash: lower case letters, digits, hyphens", "%q names nothing", l.plan.Name)
	}
	if l.plan.Title == "" {
		l.gap("title", "the question that the plan answers, in one line", "it is empty")
	}
}

func (l *linter) claims() {
	if len(l.plan.Claims) == 0 {
		l.gap("claims", "those that are in question, of `rmq-mcp list claims`, such as [qos1-no-loss, recovery]", "there is none")
	}
	for i, name := range l.plan.Claims {
		where := "claims: " + name
		if _, err := checker.Find(name); err != nil {
			l.gap(where, "one of "+strings.Join(claimNames(), ", "), "there is no such claim")
			continue
		}
		if slices.Contains(l.plan.Claims[:i], name) {
			l.gap(where, "it once", "it is there twice")
		}
		if len(l.items) == len(l.list) && !slices.ContainsFunc(l.list, func(it Item) bool { return it.judges(name) }) {
			l.gap(where, "a scenario that judges it"+l.judging(name)+", or leave the claim out and name it in not_covered", "no scenario of the plan judges it%s", l.hidden(name))
		}
	}
}

// hidden says why the scenarios of the plan that have a claim do not judge it.
func (l *linter) hidden(claim string) (text string) {
	for i := range l.list {
		if why := l.list[i].why(claim); why != "" {
			return why
		}
	}
	return ""
}

// judging names scenarios of the library that judge a claim.
func (l *linter) judging(claim string) string {
	all, err := scenarios.Library()
	if err != nil {
		return ""
	}
	var names []string
	for _, s := range all {
		if slices.Contains(s.Claims, claim) && len(names) < 3 {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return ""
	}
	return ", such as " + strings.Join(names, ", ")
}

func (l *linter) hypotheses() {
	if len(l.plan.Hypotheses) == 0 {
		l.gap("hypotheses", "how each claim might be false: id, text, because, claims, scenarios", "there is none")
	}
	seen := map[string]bool{}
	for i, h := range l.plan.Hypotheses {
		where := fmt.Sprintf("hypotheses %d", i+1)
		if h.ID == "" || seen[h.ID] {
			l.gap(where, fmt.Sprintf("an id of its own, such as H%d", i+1), "its id %q names nothing alone", h.ID)
		} else {
			where = "hypotheses " + h.ID
		}
		seen[h.ID] = true
		if h.Text == "" {
			l.gap(where+": text", "what might happen, so that a run can show it", "it is empty")
		}
		if h.Because == "" {
			l.gap(where+": because", "why it is suspected", "it is empty")
		}
		l.known(where+": claims", h.Claims, l.plan.Claims, "claims of the plan that it would falsify")
		l.known(where+": scenarios", h.Scenarios, l.ids(), "ids of scenarios that would show it")
		for _, id := range h.Scenarios {
			it := l.items[id]
			if it != nil && len(h.Claims) > 0 && !slices.ContainsFunc(h.Claims, it.judges) {
				l.gap(where+": scenarios: "+id, "one that does, or a claim of "+strings.Join(it.claimNames(), ", "),
					"%s judges none of %s%s", it.Scenario, strings.Join(h.Claims, ", "), it.why(h.Claims...))
			}
		}
	}
	for _, id := range l.ids() {
		if !slices.ContainsFunc(l.plan.Hypotheses, func(h Hypothesis) bool { return slices.Contains(h.Scenarios, id) }) {
			l.gap("scenarios "+id, "its id into the scenarios of a hypothesis, or leave it out", "no hypothesis would be shown by it")
		}
	}
	for _, claim := range l.plan.Claims {
		if !slices.ContainsFunc(l.plan.Hypotheses, func(h Hypothesis) bool { return slices.Contains(h.Claims, claim) }) {
			l.gap("claims: "+claim, "a hypothesis with it in its claims", "no hypothesis says how it might be false")
		}
	}
}

// known wants a list that is not empty, of names that there are.
func (l *linter) known(where string, names, valid []string, what string) {
	if len(names) == 0 {
		l.gap(where, what, "there is none")
	}
	for _, name := range names {
		if !slices.Contains(valid, name) {
			l.gap(where, what+": "+strings.Join(valid, ", "), "%q is none", name)
		}
	}
}

func (l *linter) ids() (ids []string) {
	for _, s := range l.plan.Scenarios {
		ids = append(ids, s.ID)
	}
	return ids
}

func (l *linter) adequacy() {
	for i, c := range l.plan.Adequacy {
		where := fmt.Sprintf("adequacy %d", i+1)
		if !slices.Contains(l.plan.Claims, c.Claim) {
			l.gap(where+": claim", "one of "+strings.Join(l.plan.Claims, ", "), "%q is no claim of the plan", c.Claim)
		}
		states := []string{string(verdict.PassSmoke), string(verdict.PassHardening)}
		if !slices.Contains(states, c.State) {
			l.gap(where+": state", strings.Join(states, " or "), "%q is nothing to reach", c.State)
		}
		if c.Why == "" {
			l.gap(where+": why", "why that is enough", "it is empty")
		}
		l.known(where+": scenarios", c.Scenarios, l.ids(), "ids of scenarios that have to reach it")
		for _, id := range c.Scenarios {
			it := l.items[id]
			switch {
			case it == nil:
			case !it.judges(c.Claim):
				l.gap(where+": scenarios: "+id, "one that does", "%s does not judge %s%s", it.Scenario, c.Claim, it.why(c.Claim))
			case c.State == string(verdict.PassHardening) && !verdict.Hardens(it.Model.Tier):
				l.gap(where+": state", "PASS-smoke, or tier: hardening into the model of "+id, "%s cannot reach %s at tier %s", id, c.State, it.Model.Tier)
			}
		}
	}
	for _, claim := range l.plan.Claims {
		if !slices.ContainsFunc(l.plan.Adequacy, func(c Criterion) bool { return c.Claim == claim }) {
			l.gap("adequacy", fmt.Sprintf("{claim: %s, state: PASS-smoke, scenarios: [...], why: ...}", claim), "nothing says what would be enough for %s", claim)
		}
	}
}

func (l *linter) budget() {
	runs, timeS := 0, 0.0
	for _, it := range l.list {
		runs += it.Model.wanted()
		timeS += it.expectedS() * float64(it.Model.wanted())
	}
	b := l.plan.Budget
	if b.Runs < max(runs, 1) {
		l.gap("budget.runs", fmt.Sprintf("%d or more, or plan fewer attempts", max(runs, 1)), "%d runs are fewer than the %d attempts", b.Runs, runs)
	}
	if b.TimeS < max(timeS, 1) {
		l.gap("budget.time_s", fmt.Sprintf("%.0f or more, or plan fewer attempts", max(timeS, 1)), "%.0f s are less than the %.0f s that the attempts are expected to take", b.TimeS, timeS)
	}
}

func (l *linter) uncovered() {
	if len(l.plan.NotCovered) == 0 {
		l.gap("not_covered", "what this plan says nothing about, and why: - {what: power loss, why: ...}", "there is none, and no plan covers everything")
	}
	for i, u := range l.plan.NotCovered {
		if u.What == "" || u.Why == "" {
			l.gap(fmt.Sprintf("not_covered %d", i+1), "{what: ..., why: ...}", "what or why is empty")
		}
	}
}

func claimNames() (names []string) {
	for _, e := range checker.All {
		names = append(names, e.Claim.Name)
	}
	return names
}
