package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Run is one that is there, with its verdict where it was needed.
type Run struct {
	Record *history.Run
	Cell   campaigns.Cell // judged again
	Live   bool           // it has not ended
	Broken string         // why it is not what was sealed, or cannot be judged; "" where it is and can

	DurationS float64
}

// Status is what became of a plan, decided from the runs alone.
type Status struct {
	Plan       string      `json:"plan"`
	Title      string      `json:"title"`
	Hash       string      `json:"sha256"`
	Frozen     time.Time   `json:"frozen"`
	File       string      `json:"file,omitempty"`
	Items      []ItemLine  `json:"scenarios"`
	Claims     []ClaimLine `json:"claims"`
	Mismatches []string    `json:"mismatches"` // what is no longer as it was frozen, or no attempt because of that
	NotCovered []Uncovered `json:"not_covered"`
	verdict.SessionVerdict
}

// An ItemLine is one scenario of a plan and what its attempts showed.
type ItemLine struct {
	ID       string        `json:"id"`
	Scenario string        `json:"scenario"`
	On       string        `json:"on"` // its model in words
	Tier     string        `json:"tier"`
	State    verdict.State `json:"state"`
	Headline string        `json:"headline"`
	Severity string        `json:"severity,omitempty"`
	Caps     []string      `json:"caps"`
	Planned  int           `json:"planned"` // attempts
	Attempts []Attempt     `json:"attempts"`
	Running  []string      `json:"running"`       // runs that may become attempts
	Missing  []int64       `json:"missing_seeds"` // of attempts not made; 0 for any seed that was not used
	Command  string        `json:"command,omitempty"`
	Call     string        `json:"call,omitempty"` // both make the next attempt
}

// An Attempt is a run that counts.
type Attempt struct {
	RunID  string        `json:"run_id"`
	Root   string        `json:"root"`
	Seed   int64         `json:"seed"`
	Broker string        `json:"broker"` // with its build
	State  verdict.State `json:"state"`

	DurationS float64 `json:"duration_s"`

	judged []string // claims that it was judged by
}

// A ClaimLine says whether what the plan wanted for a claim was reached.
type ClaimLine struct {
	Claim  string   `json:"claim"`
	Wanted string   `json:"wanted"` // PASS-smoke of S1, S2
	Enough bool     `json:"enough"`
	Lacks  []string `json:"lacks"` // S2 is NOT-RUN
}

// Status decides what became of a plan from the runs of its state directory, the
// oldest first. Those that are no attempts of it say nothing. Moved is what
// changed otherwise since it was frozen.
func (r *Record) Status(runs []Run, moved []string) Status {
	s := Status{Plan: r.Plan.Name, Title: r.Plan.Title, Hash: r.Hash, Frozen: r.At, File: r.File, Mismatches: append([]string{}, moved...), NotCovered: r.Plan.NotCovered}
	var planned []verdict.Planned
	var without []string
	oldest := r.oldest(runs)
	for i := range r.Items {
		it := &r.Items[i]
		line, v := r.line(it, runs, oldest[it.Model.asks()], &s.Mismatches)
		if it.Without != "" {
			line.On += ", without its " + it.Without
			without = append(without, it.ID+" is run without its "+it.Without)
		}
		s.Items = append(s.Items, line)
		planned = append(planned, verdict.Planned{Name: it.ID, Tier: it.Model.Tier, Missing: len(line.Missing), Verdict: v})
	}
	concerns := slices.Concat(s.Mismatches, without)
	for _, c := range r.Plan.Adequacy {
		line, unjudged := c.line(s.Items)
		s.Claims, concerns = append(s.Claims, line), append(concerns, unjudged...)
	}
	s.SessionVerdict = verdict.Session(planned, concerns)
	return s
}

// line folds the attempts of an item. Oldest decides their build.
func (r *Record) line(it *Item, runs []Run, oldest *Run, mismatches *[]string) (ItemLine, verdict.Verdict) {
	line := ItemLine{ID: it.ID, Scenario: it.Scenario, On: it.Model.words(), Tier: it.Model.Tier, Planned: it.Model.wanted(), Attempts: []Attempt{}, Running: []string{}}
	var attempts []verdict.Attempt
	for _, run := range r.attempts(it, runs, oldest, mismatches) {
		if run.Live {
			line.Running = append(line.Running, run.Record.ID)
			continue
		}
		*mismatches = append(*mismatches, it.rejudged(run)...)
		v := run.Cell.Verdict
		attempts = append(attempts, run.Cell.Attempt())
		line.Attempts = append(line.Attempts, Attempt{run.Record.ID, run.Cell.Root, run.Record.Seed, build(run.Cell.Broker), v.State, run.DurationS, judged(v)})
	}
	v := verdict.Series(attempts)
	line.State, line.Headline, line.Severity, line.Caps = v.State, v.Headline, v.Severity, v.Caps
	line.Missing = it.missing(line.Attempts)
	if len(line.Missing) > 0 {
		line.Command, line.Call = it.Model.command(r.path(it.ID), line.Missing[0]), it.call(line.Missing[0])
	}
	return line, v
}

// judged are the claims that a verdict decided about.
func judged(v verdict.Verdict) (claims []string) {
	for _, r := range v.Results {
		if r.Status != verdict.Unknown {
			claims = append(claims, r.Claim.Name)
		}
	}
	return claims
}

// asked is the broker that a model asks for. Any build may do, but the same one in the
// whole plan.
type asked struct{ flavor, runtime, version string }

func (m Model) asks() asked { return asked{m.Flavor, m.Runtime, m.Version} }

// oldest returns, for each broker that is asked for, the first run that is an attempt of
// a scenario on it.
func (r *Record) oldest(runs []Run) map[asked]*Run {
	oldest := map[asked]*Run{}
	for i, run := range runs {
		if run.Live || run.Broken != "" || run.Record.Started.Before(r.At) {
			continue
		}
		for _, it := range r.ItemsOf(run.Record) {
			oldest[it.Model.asks()] = cmp.Or(oldest[it.Model.asks()], &runs[i])
		}
	}
	return oldest
}

// attempts returns the runs that count for an item, or will count when they
// end. Oldest decides the build, because runs on two builds show nothing together. A build
// that nobody knows is another one here: behind it, runs on any two builds could count.
// If a run nearly counts, the reason why it does not is added to mismatches.
func (r *Record) attempts(it *Item, runs []Run, oldest *Run, mismatches *[]string) (list []Run) {
	var first *Run
	for i, run := range runs {
		if run.Record.Started.Before(r.At) {
			continue
		}
		none := func(why string, args ...any) {
			*mismatches = append(*mismatches, fmt.Sprintf("%s: run %s is no attempt: %s", it.ID, run.Record.ID, fmt.Sprintf(why, args...)))
		}
		switch differences := it.differs(run.Record); {
		case len(differences) > 0:
			for _, d := range moved(differences) {
				none("%s", d)
			}
		case run.Live:
			list = append(list, run)
		case run.Broken != "":
			none("%s", run.Broken)
		case oldest.Cell.Broker.Build != run.Cell.Broker.Build || oldest.Cell.Broker.Version != run.Cell.Broker.Version:
			none("it was on another build than %s: %s → %s", oldest.Record.ID, build(oldest.Cell.Broker), build(run.Cell.Broker))
		case first != nil && first.Cell.Broker != run.Cell.Broker:
			none("it was on another broker than %s: %s → %s", first.Record.ID, build(first.Cell.Broker), build(run.Cell.Broker))
		default:
			first = cmp.Or(first, &runs[i])
			list = append(list, run)
		}
	}
	return list
}

// rejudged are the claims that are judged by another checker than was planned.
func (it *Item) rejudged(run Run) (list []string) {
	for _, result := range run.Cell.Verdict.Results {
		j := slices.IndexFunc(it.Claims, func(j Judge) bool { return j.Claim == result.Claim.Name })
		if j >= 0 && it.Claims[j].Checker != result.Checker {
			list = append(list, fmt.Sprintf("%s: run %s: checker of %s: %s → %s", it.ID, run.Record.ID, result.Claim.Name, it.Claims[j].Checker, result.Checker))
		}
	}
	return list
}

// build is a broker with what its build is known by.
func build(b campaigns.Broker) string {
	return strings.Join(strings.Fields(fmt.Sprintf("%s %.8s %s", b, b.Build, b.Differs)), " ")
}

// missing are the seeds of the attempts that were not made.
func (it *Item) missing(attempts []Attempt) []int64 {
	list := []int64{}
	seeds := map[int64]bool{}
	for _, a := range attempts {
		seeds[a.Seed] = true
	}
	for _, seed := range it.Model.Seeds {
		if !seeds[seed] {
			list = append(list, seed)
		}
	}
	for range it.Model.Attempts - len(seeds) {
		list = append(list, 0)
	}
	return list
}

// line decides whether a criterion is met. A pass says nothing of a claim that the run was
// not judged by: it is lacking, and returned as a concern, too.
func (c Criterion) line(items []ItemLine) (out ClaimLine, unjudged []string) {
	out = ClaimLine{Claim: c.Claim, Wanted: c.State + " of " + joined(c.Scenarios), Lacks: []string{}}
	for _, it := range items {
		if !slices.Contains(c.Scenarios, it.ID) {
			continue
		}
		if it.State != verdict.PassHardening && (it.State != verdict.PassSmoke || c.State != string(verdict.PassSmoke)) {
			out.Lacks = append(out.Lacks, fmt.Sprintf("%s, which is %s", it.ID, it.State))
		}
		for _, a := range it.Attempts {
			if a.State.ExitCode() == 0 && !slices.Contains(a.judged, c.Claim) {
				out.Lacks = append(out.Lacks, fmt.Sprintf("%s, as run %s did not judge it", it.ID, a.RunID))
				unjudged = append(unjudged, fmt.Sprintf("%s: run %s did not judge %s", it.ID, a.RunID, c.Claim))
			}
		}
	}
	out.Enough = len(out.Lacks) == 0
	return out, unjudged
}
