package reports

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// SeriesFile is series.json in a run directory.
const SeriesFile = "series.json"

// A Series is what a run and its repetitions show together. It is decided over several
// runs, so it is no part of the evidence of this one, whose own verdict stays.
type Series struct {
	State    verdict.State                 `json:"state"`
	Headline string                        `json:"headline"`
	Each     map[string]verdict.Repetition `json:"each,omitempty"` // how often the failure of each failed run came, by its id
	Runs     []string                      `json:"run_ids"`        // this one among them
}

// JoinSeries writes what a run and its repetitions show into the run's report.
func JoinSeries(dir string, s Series) error { return join(dir, SeriesFile, s) }

// Series is what a run and its repetitions show; nil if it was not repeated.
func (d Dir) Series() (*Series, error) { return decidedIn[Series](d, SeriesFile) }

// shown returns the result for people and lists: the run's own violation, in the state that
// it has by its repetitions. A series is not sealed: it can say how often a failure comes,
// and not that there was none.
func (r *Report) shown() Series {
	own := Series{State: r.Verdict.State, Headline: r.Verdict.Headline}
	s := r.Series
	if s == nil || !r.Verdict.State.Failed() || !s.State.Failed() || !slices.Contains(s.Runs, r.ID) {
		return own
	}
	if len(s.Each) == 0 { // of an older version
		return *s
	}
	if again, ok := s.Each[r.ID]; ok {
		own.State, own.Headline = again.State, r.Verdict.Among(again)
	}
	return own
}

// Repeated says how often each failed claim of the run failed in its repetitions, in words;
// "" if nobody repeated it, or an older version did.
func (r *Report) Repeated() string {
	if r.Series == nil {
		return ""
	}
	return r.Series.Each[r.ID].String()
}

// reasons are those of the verdict, as far as the series leaves them standing.
func (r *Report) reasons() []string {
	if r.shown().Headline == r.Verdict.Headline {
		return r.Verdict.Reasons
	}
	return repeated(r.Verdict.Reasons)
}

// whyPass are the grounds of a pass; none of another verdict.
func (r *Report) whyPass() (why []string) {
	if r.Verdict.State.ExitCode() != 0 {
		return nil
	}
	for _, l := range r.Landings {
		why = append(why, fmt.Sprintf("%s, %s of %s, landed and was healed", l.Fault, l.Type, cmp.Or(joined(l.Nodes, ", "), l.Target)))
	}
	passed, red := 0, 0
	for _, result := range r.Verdict.Results {
		if result.Status == verdict.Pass {
			passed++
			if result.Canary.Red {
				red++
			}
		}
	}
	duplicates := ""
	if n := r.Totals.Duplicated; n > 0 {
		duplicates = fmt.Sprintf(", %s of them duplicates that break no claim", thousands(n))
	}
	return append(why,
		fmt.Sprintf("%d claims were judged and hold over %s acknowledged messages and %s deliveries%s", passed, thousands(r.Coverage.Acked), thousands(r.Totals.Received), duplicates),
		fmt.Sprintf("%d of their checkers failed, as they must, on a copy of the record with a planted violation", red))
}

// Shown returns the verdict of a run for people. A repeated failure has the state
// and the headline of its row, and is not said to be not repeated.
func (s *Summary) Shown() verdict.Verdict {
	v := s.Verdict
	if v.State.Failed() && s.State.Failed() && s.Headline != v.Headline {
		v.State, v.Headline, v.Reasons = s.State, s.Headline, repeated(v.Reasons)
	}
	return v
}

// repeated are the reasons for a verdict on a run that was repeated.
func repeated(reasons []string) []string {
	return slices.DeleteFunc(slices.Clone(reasons), func(why string) bool { return why == verdict.NotRepeated })
}
