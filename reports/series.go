package reports

import (
	"slices"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// SeriesFile is series.json in a run directory.
const SeriesFile = "series.json"

// A Series is what a run and its repetitions show together. It is decided over several
// runs, so it is no part of the evidence of this one, whose own verdict stays.
type Series struct {
	State    verdict.State `json:"state"`
	Headline string        `json:"headline"`
	Claim    string        `json:"claim,omitempty"` // that failed in the most of them
	Count    string        `json:"count,omitempty"` // how often it failed, in words
	Alike    []string      `json:"alike,omitempty"` // those that failed it in the way that came most often
	Runs     []string      `json:"run_ids"`         // this one among them
}

// JoinSeries writes what a run and its repetitions show into the run's report.
func JoinSeries(dir string, s Series) error { return join(dir, SeriesFile, s) }

// shown returns the result for people and lists. A failure that came again has the state of
// the series and the run's own violation, any other the run's own verdict. A series is not
// sealed: it can say how often a failure comes, and not that there was none.
func (r *Report) shown() Series {
	own := Series{State: r.Verdict.State, Headline: r.Verdict.Headline}
	s := r.Series
	switch {
	case s == nil || !r.Verdict.State.Failed() || !s.State.Failed() || !slices.Contains(s.Runs, r.ID):
		return own
	case s.Count == "": // of an older version
		return *s
	case !slices.Contains(s.Alike, r.ID):
		return own
	}
	out := *s
	out.Headline = r.Verdict.Among(s.State, s.Claim, s.Count)
	return out
}

// Repeated says how often the failure of a run came in its repetitions, in words; "" of a
// run that nobody repeated, or whose failure did not come again.
func (r *Report) Repeated() string { return r.shown().Count }

// reasons are those of the verdict, as far as the series leaves them standing.
func (r *Report) reasons() []string {
	if r.shown().Headline == r.Verdict.Headline {
		return r.Verdict.Reasons
	}
	return repeated(r.Verdict.Reasons)
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
