package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// judgedFor is an error unless a run is judged, by the claim where one is named. A view
// without violations would say that there are none.
func judgedFor(s keeper.Status, claim string) error {
	switch {
	case s.Verdict == nil && ended(s):
		return fmt.Errorf("get_run: run %s ended without a verdict; get_run with view journal shows how far it came", s.ID)
	case s.Verdict == nil:
		return fmt.Errorf("get_run: run %s is in phase %s and not judged yet; get_run with its run_id waits for the verdict", s.ID, s.Phase)
	case claim != "" && resultOf(s.Verdict, claim) == nil:
		return fmt.Errorf("get_run: run %s was not judged by a claim %q; give one of its claims in at: %s", s.ID, claim, joined(claimsOf(s.Verdict)))
	}
	return nil
}

// resultOf is that of a claim, nil for a claim that did not judge the run.
func resultOf(v *verdict.Verdict, claim string) *verdict.Result {
	i := slices.IndexFunc(v.Results, func(r verdict.Result) bool { return r.Claim.Name == claim })
	if i < 0 {
		return nil
	}
	return &v.Results[i]
}

func claimsOf(v *verdict.Verdict) (names []string) {
	for _, r := range v.Results {
		names = append(names, r.Claim.Name)
	}
	return names
}

// decided says how a run was decided, and the claim where one is named.
func decided(v *verdict.Verdict, claim string) string {
	if claim == "" {
		return string(v.State)
	}
	return fmt.Sprintf("%s; %s: %s", v.State, claim, resultOf(v, claim).Status)
}

// undecided reports whether a run, or its claim where one is named, neither passed nor failed.
func undecided(v *verdict.Verdict, claim string) bool {
	if claim == "" {
		return reports.Class(v.State) == "unclear"
	}
	return resultOf(v, claim).Status == verdict.Unknown
}

// anomaliesOf are the violations of several runs in groups. The jobs among them that have
// not ended are in open.
func (a *agent) anomaliesOf(in getRunArgs, runs, open []string) (RunView, error) {
	if in.All || in.After > 0 {
		return RunView{}, fmt.Errorf(`get_run: "detail" and "after" list the violations of one run, and this is about %d; give the run_id of one: %s`, len(runs), joined(runs))
	}
	dirs, err := a.findAll(runs)
	if err != nil {
		return RunView{}, err
	}
	view, among := &AnomalyView{}, tally{runs: len(dirs), open: open}
	var groups []AnomalyGroup
	for _, dir := range dirs {
		s, err := a.recorded(runID(dir))
		if err != nil {
			return RunView{}, err
		}
		if !among.add(s, in.At) {
			continue
		}
		one, err := violationsOf(dir, s.Verdict, in.At)
		if err != nil {
			return RunView{}, err
		}
		found, seen := counted(s.Verdict, in.At)
		view.Found, view.Seen = view.Found+found, view.Seen+seen
		groups = joinGroups(groups, one.groups, s.ID)
	}
	if err := among.err(in); err != nil {
		return RunView{}, err
	}
	for i := range groups {
		groups[i].Runs = firstOf(groups[i].Runs, maxRowRuns)
	}
	view.showing(groups)
	out := RunView{RunID: in.RunID, Anomalies: view}
	if len(groups) == 0 {
		out.Answer = answer(fmt.Sprintf("no violation in %s", among), among.next()...)
		return out, nil
	}
	out.Answer = answer(fmt.Sprintf("%s, in groups, in %s", view, among),
		"get_run with one of run_ids, view anomalies", "get_run with the first of run_ids, view history and at of an example")
	return out, nil
}

// A tally are runs by whether they can show that something was not violated.
type tally struct {
	runs      int
	open      []string // how far the jobs are that have not ended
	undecided []string
	unjudged  []string
	without   []string // judged, and not by the claim
	claims    []string // of a run that was not judged by the claim
}

// add counts a run, and reports whether it was judged, by the claim where one is named.
func (t *tally) add(s keeper.Status, claim string) bool {
	switch {
	case s.Verdict == nil:
		t.unjudged = append(t.unjudged, s.ID)
		return false
	case claim != "" && resultOf(s.Verdict, claim) == nil:
		t.without, t.claims = append(t.without, s.ID), claimsOf(s.Verdict)
		return false
	case undecided(s.Verdict, claim):
		t.undecided = append(t.undecided, s.ID)
	}
	return true
}

// err is that there is no run to look at.
func (t tally) err(in getRunArgs) error {
	switch {
	case t.runs > len(t.unjudged)+len(t.without):
		return nil
	case len(t.without) > 0:
		return fmt.Errorf("get_run: none of %s was judged by a claim %q; give one of their claims in at: %s", plural(t.runs, "run"), in.At, joined(t.claims))
	case t.runs == 0:
		return fmt.Errorf("get_run: %s has no judged run yet; get_run with its run_id waits", in.RunID)
	}
	return fmt.Errorf("get_run: none of %s is judged yet; get_run with the run_id of one waits for it: %s", plural(t.runs, "run"), joined(firstOf(t.unjudged, maxRowRuns)))
}

// String are the runs that were judged, and the others.
func (t tally) String() string {
	text := plural(t.runs-len(t.unjudged)-len(t.without), "run")
	for _, group := range []struct {
		says string
		runs []string
	}{{"of them undecided", t.undecided}, {"more not judged", t.unjudged}, {"more not judged by the claim", t.without}} {
		if len(group.runs) > 0 {
			text += fmt.Sprintf(", %d %s (%s)", len(group.runs), group.says, joined(firstOf(group.runs, maxRowRuns)))
		}
	}
	return strings.Join(append([]string{text}, t.open...), "; ")
}

// next is how to learn of the runs that show nothing.
func (t tally) next() (steps []string) {
	if len(t.unjudged) > 0 {
		steps = append(steps, fmt.Sprintf("get_run with run_id %q waits for its verdict", t.unjudged[0]))
	}
	if len(t.undecided) > 0 {
		steps = append(steps, fmt.Sprintf("get_run with run_id %q says why it is undecided", t.undecided[0]))
	}
	return steps
}
