package tools

import (
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// AnomalyView are the violations of a run: all losses in short, all violations
// counted, and the first of each claim's.
type AnomalyView struct {
	Losses *LossView      `json:"losses,omitempty"` // on the first page
	Groups []AnomalyGroup `json:"groups,omitempty"` // on the first page
	List   []AnomalyLine  `json:"list"`
	Total  int            `json:"total"` // that can be listed: of each claim the first 100
	Found  int64          `json:"found"` // all there are
	Next   int            `json:"next,omitempty"`
}

// An AnomalyGroup are all violations of one kind at one client.
type AnomalyGroup struct {
	Claim  string        `json:"claim"`
	Kind   string        `json:"kind"`
	Client string        `json:"client,omitempty"`
	Blame  verdict.Party `json:"blame,omitempty"`
	Count  int64         `json:"count"`
	FromS  float64       `json:"from_s"`
	ToS    float64       `json:"to_s"`
	When   string        `json:"when"` // relative to the faults
}

// maxGroups is how many groups an answer has.
const maxGroups = 50

// An AnomalyLine is one violation.
type AnomalyLine struct {
	Claim  string  `json:"claim"`
	Kind   string  `json:"kind"`
	AtS    float64 `json:"at_s"`
	Fault  string  `json:"fault_id,omitempty"` // in place at that time
	At     string  `json:"at"`                 // for get_run view=history
	Events []int64 `json:"events"`             // rows of the history
	Text   string  `json:"text"`
}

const (
	anomalyPage   = 25
	anomalyEvents = 10
)

func anomalies(dir string, v *verdict.Verdict, after int) (*AnomalyView, error) {
	view := &AnomalyView{}
	if v == nil {
		return view, nil
	}
	for _, r := range v.Results {
		view.Found += r.Found()
		for _, x := range r.Anomalies {
			if view.Total++; view.Total <= after || len(view.List) == anomalyPage {
				continue
			}
			view.List = append(view.List, AnomalyLine{Claim: r.Claim.Name, Kind: x.Kind, AtS: time.Duration(x.TimeNS).Seconds(), Fault: x.Fault,
				At: where(x), Events: x.Events[:min(len(x.Events), anomalyEvents)], Text: x.Text})
		}
	}
	if end := after + len(view.List); end < view.Total {
		view.Next = end
	}
	if after > 0 {
		return view, nil
	}
	found, err := readFound(dir)
	if err != nil {
		return nil, err
	}
	view.Losses = found.losses()
	for _, g := range found.Violations[:min(len(found.Violations), maxGroups)] {
		view.Groups = append(view.Groups, AnomalyGroup{Claim: g.Claim, Kind: g.Kind, Client: g.Client, Blame: g.Blame, Count: g.Count,
			FromS: time.Duration(g.FromNS).Seconds(), ToS: time.Duration(g.ToNS).Seconds(), When: g.When})
	}
	return view, nil
}

func where(x verdict.Anomaly) string {
	switch {
	case x.Stream >= 0 && x.Seq >= 0:
		return fmt.Sprintf("%d/%d", x.Stream, x.Seq)
	case len(x.Events) > 0:
		return fmt.Sprint(x.Events[0])
	}
	return ""
}

// next says where to look closer, before what the verdict suggests.
func (v *AnomalyView) next(then []string) []string {
	if len(v.List) == 0 {
		return then
	}
	steps := []string{fmt.Sprintf("get_run with view history and at %q", v.List[0].At)}
	if v.Next > 0 {
		steps = append(steps, fmt.Sprintf("get_run with view anomalies and after %d", v.Next))
	}
	return answer("", append(steps, then...)...).NextSteps
}
