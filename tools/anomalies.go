package tools

import (
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/internal/verdict"
)

// AnomalyView are the violations of a run: all losses in short, and examples
// of each claim's.
type AnomalyView struct {
	Losses *LossView     `json:"losses,omitempty"` // on the first page
	List   []AnomalyLine `json:"list"`
	Total  int           `json:"total"` // examples recorded; the claims' counts have how many there were
	Next   int           `json:"next,omitempty"`
}

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
	var err error
	view.Losses, err = losses(dir)
	return view, err
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
