package tools

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// AnomalyView are the violations of a run: all counted in groups, each with an
// example, and all losses by client; or a page of them one by one. Beside those that fail a
// claim it has the others, which are held against nobody.
type AnomalyView struct {
	Groups []AnomalyGroup `json:"groups,omitempty"`
	More   int            `json:"more_groups,omitempty"` // that did not fit
	Losses *LossView      `json:"losses,omitempty"`
	List   []AnomalyLine  `json:"list,omitempty"` // with detail
	Listed int            `json:"listed"`         // how many detail can show: of each claim the first 100
	Found  int64          `json:"found"`          // all that fail a claim
	Seen   int64          `json:"seen,omitempty"` // all others
	Next   int            `json:"next,omitempty"`
}

// An AnomalyGroup are all violations of one kind by clients of one SDK that are
// blamed on one party. Nobody is blamed for those that fail no claim.
type AnomalyGroup struct {
	Claim   string        `json:"claim"`
	Kind    string        `json:"kind"`
	SDK     string        `json:"sdk,omitempty"`
	Blame   verdict.Party `json:"blame,omitempty"`
	Why     string        `json:"why,omitempty"` // they fail no claim: its status, and the reason
	Count   int64         `json:"count"`
	QoS     QoSCounts     `json:"qos,omitempty"` // of the messages of those that are listed, at most 100 of a claim
	Clients []string      `json:"clients,omitempty"`
	FromS   float64       `json:"from_s"`
	ToS     float64       `json:"to_s"`
	When    string        `json:"when,omitempty"`    // relative to the faults
	Example *AnomalyLine  `json:"example,omitempty"` // the first
	Runs    []string      `json:"run_ids,omitempty"` // of several: those that have such; the example is of the first
}

// QoSCounts are numbers of violations by the QoS of the message.
type QoSCounts map[string]int64

// An AnomalyLine is one violation.
type AnomalyLine struct {
	Claim  string  `json:"claim,omitempty"`
	Kind   string  `json:"kind,omitempty"`
	Why    string  `json:"why,omitempty"` // it fails no claim: the status of its own
	AtS    float64 `json:"at_s"`
	Fault  string  `json:"fault_id,omitempty"` // in place at that time
	At     string  `json:"at"`                 // for get_run view=history
	Events []int64 `json:"events"`             // rows of the history
	Text   string  `json:"text"`
}

const (
	anomalyEvents  = 4
	anomalyClients = 4
)

// anomalies are the groups, of one claim where one is named; one by one, from after on,
// where detail is asked.
func anomalies(dir string, v *verdict.Verdict, claim string, detail bool, after int) (*AnomalyView, error) {
	view := &AnomalyView{}
	view.Found, view.Seen = counted(v, claim)
	tables := tablesOf(dir)
	var all []AnomalyLine
	for _, r := range v.Results {
		if claim != "" && r.Claim.Name != claim {
			continue
		}
		for _, x := range r.Anomalies {
			all = append(all, anomalyLine(r, x, tables.Processes))
		}
	}
	view.Listed = len(all)
	if detail || after > 0 {
		after = min(after, len(all))
		view.List = fitting(all[after:], answerBytes)
		if end := after + len(view.List); end < len(all) {
			view.Next = end
		}
		return view, nil
	}
	one, err := violationsOf(dir, v, claim)
	if err != nil {
		return nil, err
	}
	view.showing(one.groups)
	view.Losses = one.losses
	return view, nil
}

// counted are the violations of a verdict, of one claim where one is named: those that fail
// it, and the others.
func counted(v *verdict.Verdict, claim string) (found, seen int64) {
	for _, r := range v.Results {
		switch {
		case claim != "" && r.Claim.Name != claim:
		case r.Status == verdict.Fail:
			found += r.Found()
		default:
			seen += r.Found()
		}
	}
	return found, seen
}

// String is how many there are.
func (view *AnomalyView) String() string {
	text := plural(int(view.Found), "violation")
	if view.Seen > 0 {
		text += "; " + plural(int(view.Seen), "observation") + " without a party to blame"
	}
	return text
}

// showing puts as many groups into the view as an answer has room for.
func (view *AnomalyView) showing(groups []AnomalyGroup) {
	view.Groups = fitting(groups, answerBytes)
	view.More = len(groups) - len(view.Groups)
}

// tablesOf are those of a run; empty where they cannot be read.
func tablesOf(dir string) *history.Tables {
	t, _, err := reports.Dir(dir).Tables()
	if err != nil {
		return &history.Tables{}
	}
	return t
}

// violations are those of one run.
type violations struct {
	groups []AnomalyGroup
	losses *LossView // nil where one claim was named
}

// violationsOf returns those of a run, of one claim where one is named.
func violationsOf(dir string, v *verdict.Verdict, claim string) (one violations, err error) {
	f, err := readFound(dir)
	if err != nil {
		return one, err
	}
	if claim == "" {
		one.losses = f.losses()
	} else {
		f.Violations = slices.DeleteFunc(f.Violations, func(one reports.Violations) bool { return one.Claim != claim })
	}
	one.groups = f.groups(v, tablesOf(dir))
	return one, nil
}

// sameGroup reports whether violations are of one claim, kind, SDK and party.
func sameGroup(a, b AnomalyGroup) bool {
	return a.Claim == b.Claim && a.Kind == b.Kind && a.SDK == b.SDK && a.Blame == b.Blame && (a.Why == "") == (b.Why == "")
}

// joinGroups adds the groups of a run to those of others.
func joinGroups(all, of []AnomalyGroup, run string) []AnomalyGroup {
	for _, g := range of {
		i := slices.IndexFunc(all, func(other AnomalyGroup) bool { return sameGroup(g, other) })
		if i < 0 {
			g.Runs = []string{run}
			all = append(all, g)
			continue
		}
		same := &all[i]
		same.Count += g.Count
		same.QoS = sum(same.QoS, g.QoS)
		same.FromS, same.ToS = min(same.FromS, g.FromS), max(same.ToS, g.ToS)
		if same.When != g.When {
			same.When = ""
		}
		same.Runs = append(same.Runs, run)
	}
	return all
}

func anomalyLine(r verdict.Result, x verdict.Anomaly, processes []history.Process) AnomalyLine {
	line := AnomalyLine{Claim: r.Claim.Name, Kind: x.Kind, AtS: time.Duration(x.TimeNS).Seconds(), Fault: x.Fault,
		At: where(x, processes), Events: x.Events[:min(len(x.Events), anomalyEvents)], Text: plain.CutBytes(x.Text, briefly)}
	if r.Status != verdict.Fail {
		line.Why = string(r.Status)
	}
	return line
}

// groups folds the violations of a report, which are those of one client each.
func (f found) groups(v *verdict.Verdict, tables *history.Tables) (list []AnomalyGroup) {
	sdks := map[string]string{}
	for _, p := range tables.Processes {
		sdks[p.Name] = p.SDK
	}
	for _, one := range f.Violations {
		from, to := time.Duration(one.FromNS).Seconds(), time.Duration(one.ToNS).Seconds()
		first := AnomalyGroup{Claim: one.Claim, Kind: one.Kind, SDK: sdks[one.Client], Blame: one.Blame, Why: one.Why, FromS: from, ToS: to, When: one.When}
		if r := resultOf(v, one.Claim); r != nil && r.Status != verdict.Fail {
			first.Blame, first.Why = "", cmp.Or(one.Why, string(r.Status)) // older reports do not say it
		}
		i := slices.IndexFunc(list, func(g AnomalyGroup) bool { return sameGroup(g, first) })
		if i < 0 {
			i = len(list)
			first.Example, first.QoS = shownOf(v, first, tables)
			list = append(list, first)
		}
		g := &list[i]
		g.Count += one.Count
		g.FromS, g.ToS = min(g.FromS, from), max(g.ToS, to)
		if one.When != g.When {
			g.When = "" // not the same of all
		}
		if one.Client != "" {
			g.Clients = append(g.Clients, one.Client)
		}
	}
	for i := range list {
		list[i].Clients = firstOf(list[i].Clients, anomalyClients)
	}
	return list
}

// shownOf returns the first violation of a group that a verdict lists, and counts them by
// the QoS of their message; nil where there are none, or none of a message.
func shownOf(v *verdict.Verdict, g AnomalyGroup, tables *history.Tables) (example *AnomalyLine, counts QoSCounts) {
	for _, r := range v.Results {
		for _, x := range r.Anomalies {
			of := AnomalyGroup{Claim: r.Claim.Name, Kind: x.Kind, Blame: x.Blame}
			if r.Status != verdict.Fail {
				of.Blame, of.Why = "", string(r.Status)
			}
			if x.Process >= 0 && int(x.Process) < len(tables.Processes) {
				of.SDK = tables.Processes[x.Process].SDK
			}
			if !sameGroup(of, g) {
				continue
			}
			if example == nil {
				line := anomalyLine(r, x, tables.Processes)
				line.Claim, line.Kind, line.Why = "", "", "" // the group has them
				example = &line
			}
			if x.Stream >= 0 && int(x.Stream) < len(tables.Streams) {
				counts = sum(counts, QoSCounts{fmt.Sprint(tables.Streams[x.Stream].QoS): 1})
			}
		}
	}
	return example, counts
}

func sum(a, b QoSCounts) QoSCounts {
	out := QoSCounts{}
	for _, counts := range []QoSCounts{a, b} {
		for qos, n := range counts {
			out[qos] += n
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// where is what view history takes to show a violation.
func where(x verdict.Anomaly, processes []history.Process) string {
	switch {
	case x.Stream >= 0 && x.Seq >= 0 && x.Process >= 0 && int(x.Process) < len(processes):
		return fmt.Sprintf("%d/%d@%s", x.Stream, x.Seq, processes[x.Process].Name)
	case x.Stream >= 0 && x.Seq >= 0:
		return fmt.Sprintf("%d/%d", x.Stream, x.Seq)
	case len(x.Events) > 0:
		return fmt.Sprint(x.Events[0])
	}
	return ""
}

// next says where to look closer.
func (v *AnomalyView) next() (steps []string) {
	var at string
	if len(v.Groups) > 0 && v.Groups[0].Example != nil {
		at = v.Groups[0].Example.At
	}
	if len(v.List) > 0 {
		at = v.List[0].At
	}
	if at != "" {
		steps = append(steps, fmt.Sprintf("get_run with view history and at %q", at))
	}
	switch {
	case v.Next > 0:
		steps = append(steps, fmt.Sprintf("get_run with view anomalies and after %d", v.Next))
	case len(v.List) == 0 && v.Listed > len(v.Groups):
		steps = append(steps, "get_run with view anomalies and detail: one by one")
	}
	return steps
}
