package checker

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/figures"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// maxListed is how many anomalies a result lists. Its counts have the totals.
const maxListed = 100

// findings collects the anomalies of one checker.
type findings struct {
	list   []verdict.Anomaly
	total  int64
	groups map[kindAt]verdict.Violations
}

// A kindAt is the key by which violations are counted: the kind, the process that met
// it, the party to blame, and whether they were to be expected.
type kindAt struct {
	kind     string
	process  int32
	blame    verdict.Party
	expected bool
}

// add keeps an anomaly. To bound memory it drops all but the first now and then, and
// keeps the first of each party to blame. Anomalies come nearly in order of time.
func (f *findings) add(a verdict.Anomaly) {
	f.total++
	f.count(a)
	f.list = append(f.list, a)
	if len(f.list) >= 64*maxListed {
		f.trim()
	}
}

func (f *findings) count(a verdict.Anomaly) {
	k := kindAt{a.Kind, a.Process, a.Blame, a.Expected}
	v, known := f.groups[k]
	if !known {
		v = verdict.Violations{Kind: a.Kind, Process: a.Process, Blame: a.Blame, Expected: a.Expected, FromNS: a.TimeNS, ToNS: a.TimeNS}
	}
	v.Count, v.FromNS, v.ToNS = v.Count+1, min(v.FromNS, a.TimeNS), max(v.ToNS, a.TimeNS)
	if f.groups == nil {
		f.groups = map[kindAt]verdict.Violations{}
	}
	f.groups[k] = v
}

// counted are all violations, those of one process together.
func (f *findings) counted() []verdict.Violations {
	return slices.SortedFunc(maps.Values(f.groups), func(a, b verdict.Violations) int {
		return cmp.Or(cmp.Compare(a.Process, b.Process), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Blame, b.Blame), cmp.Compare(bit(a.Expected), bit(b.Expected)))
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (f *findings) trim() {
	slices.SortFunc(f.list, func(a, b verdict.Anomaly) int {
		return cmp.Or(
			cmp.Compare(a.TimeNS, b.TimeNS), cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.Stream, b.Stream), cmp.Compare(a.Seq, b.Seq),
			cmp.Compare(a.Kind, b.Kind), slices.Compare(a.Events, b.Events))
	})
	list := f.list[:min(len(f.list), maxListed)]
	for _, a := range f.list[len(list):] {
		if !slices.ContainsFunc(list, func(b verdict.Anomaly) bool { return b.Blame == a.Blame }) {
			list = append(list, a)
		}
	}
	f.list = list
}

// first returns the anomalies to list.
func (f *findings) first() []verdict.Anomaly {
	f.trim()
	return f.list
}

// judged makes a result out of what was found: fail if there is anything,
// unknown if there was nothing to judge, else pass.
func (f *findings) judged(n int64, counts map[string]int64, nothing string) verdict.Result {
	r := verdict.Result{Status: verdict.Pass, Judged: n, Counts: counts, Anomalies: f.first(), Violations: f.counted()}
	switch {
	case f.total > 0:
		r.Status = verdict.Fail
	case n == 0:
		r.Status = verdict.Unknown
		r.Reasons = []string{nothing}
		r.Summary = nothing
	}
	return r
}

// events lists the rows that exist, in order.
func events(indices ...int64) []int64 {
	list := slices.DeleteFunc(indices, func(i int64) bool { return i < 0 })
	slices.Sort(list)
	return slices.Compact(list)
}

// summary is a sentence about a whole result, with separators in its numbers.
func summary(format string, args ...any) string { return figures.Sprintf(format, args...) }

func sentence(format string, args ...any) string { return fmt.Sprintf(format, args...) }

func clock(t int64) string { return fmt.Sprintf("%.3f s", float64(t)/1e9) }

// under says which fault was in place, for the end of a sentence.
func under(fault string) string {
	if fault == "" {
		return ""
	}
	return " during " + fault
}

func (f findings) fork() findings {
	f.list, f.groups = slices.Clone(f.list), maps.Clone(f.groups)
	return f
}
