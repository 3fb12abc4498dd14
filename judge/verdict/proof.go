package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// A reading is the meaning of a proof's samples.
type reading int

const (
	unreadable reading = iota // they say nothing
	held                      // the wanted change was seen
	refuted                   // they were readable, and it was not
)

// read judges one proof by its samples alone.
func read(p history.ProofRecord) (reading, string) {
	if p.Want == history.WantBack {
		return readBack(p, at(p, history.After))
	}
	before, during := at(p, history.Before), at(p, history.During)
	switch {
	case len(before) == 0:
		return unreadable, fmt.Sprintf("%s: not sampled before the fault", p.Name)
	case len(during) == 0:
		return unreadable, fmt.Sprintf("%s: not sampled during the fault", p.Name)
	}
	switch p.Want {
	case history.WantState:
		return readState(p, before, during)
	case history.WantChanges:
		return readChanges(p, before, during)
	case history.WantSame:
		return readSame(p, before, during)
	case history.WantFails:
		return readFails(p, before, during)
	case history.WantGrows:
		return readGrows(p, before, during)
	case history.WantSlower:
		return readSlower(p, before, during, during[len(during)-1].Value) // what has gone again is no effect
	case history.WantSlowed:
		return readSlower(p, before, during, slices.Max(values(during)))
	case history.WantReaches:
		return readReaches(p, before, during)
	case history.WantStill:
		return readStill(p, before, during)
	}
	return unreadable, fmt.Sprintf("%s: the wanted value %q is not known", p.Name, p.Want)
}

func readState(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return unreadable, fmt.Sprintf("%s: could not be read %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	was, is := states(before), states(during)
	text := fmt.Sprintf("%s: %s before, %s during, wanted %s", p.Name, was, is, p.Expect)
	if allIn(during, p.Expect) && !anyIn(before, p.Expect) {
		return held, text
	}
	return refuted, text
}

func readChanges(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return unreadable, fmt.Sprintf("%s: could not be read %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	text := fmt.Sprintf("%s: %s before, %s during, wanted another", p.Name, states(before), states(during))
	for _, s := range before {
		if anyIn(during, s.State) {
			return refuted, text
		}
	}
	return held, text
}

func readSame(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return refuted, fmt.Sprintf("%s: failed %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	text := fmt.Sprintf("%s: %s before, %s during", p.Name, states(before), states(during))
	if states(before) == states(during) {
		return held, text
	}
	return refuted, text
}

func readFails(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before); ok {
		return unreadable, fmt.Sprintf("%s: failed before the fault too: %s", p.Name, s.Error)
	}
	if i := slices.IndexFunc(during, func(s history.Sample) bool { return s.Ours }); i >= 0 {
		return unreadable, fmt.Sprintf("%s: this host could not probe during the fault: %s", p.Name, during[i].Error)
	}
	failing := countNotOK(during)
	text := fmt.Sprintf("%s: answered before, %d of %d failed during", p.Name, failing, len(during))
	if failing == len(during) {
		return held, text
	}
	return refuted, text
}

func readGrows(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return unreadable, fmt.Sprintf("%s: could not be read %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	was, is := slices.Max(values(before)), slices.Max(values(during))
	text := fmt.Sprintf("%s: %s before, %s during", p.Name, quantity(was, p.Unit), quantity(is, p.Unit))
	if is > was {
		return held, text
	}
	return refuted, text
}

func readSlower(p history.ProofRecord, before, during []history.Sample, is float64) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return unreadable, fmt.Sprintf("%s: could not be read %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	was := median(before)
	text := fmt.Sprintf("%s: %s before, %s during, wanted %s more", p.Name,
		quantity(was, p.Unit), quantity(is, p.Unit), quantity(p.Margin, p.Unit))
	if is > was && is-was >= p.Margin {
		return held, text
	}
	return refuted, text
}

// readReaches takes the least of the values: a busy host makes an operation slower, and never
// quicker than its delay. A host on which it took as long before the fault shows nothing.
func readReaches(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return unreadable, fmt.Sprintf("%s: could not be read %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	was, is := slices.Min(values(before)), slices.Min(values(during))
	text := fmt.Sprintf("%s: %s before, %s during, wanted at least %s", p.Name,
		quantity(was, p.Unit), quantity(is, p.Unit), quantity(p.Margin, p.Unit))
	switch {
	case was >= p.Margin:
		return unreadable, text
	case is >= p.Margin:
		return held, text
	}
	return refuted, text
}

func readStill(p history.ProofRecord, before, during []history.Sample) (reading, string) {
	if s, ok := firstNotOK(before, during); ok {
		return refuted, fmt.Sprintf("%s: failed %s the fault: %s", p.Name, s.Moment, s.Error)
	}
	was := median(before)
	for _, s := range during {
		if p.Margin > 0 && math.Abs(s.Value-was) > p.Margin {
			return refuted, fmt.Sprintf("%s: moved from %s to %s, allowed is %s", p.Name,
				quantity(was, p.Unit), quantity(s.Value, p.Unit), quantity(p.Margin, p.Unit))
		}
	}
	return held, fmt.Sprintf("%s: still, %d samples", p.Name, len(before)+len(during))
}

func readBack(p history.ProofRecord, after []history.Sample) (reading, string) {
	if len(after) == 0 {
		return unreadable, fmt.Sprintf("%s: not read back", p.Name)
	}
	last := after[len(after)-1]
	switch {
	case !last.OK:
		return refuted, fmt.Sprintf("%s: not as before: %s", p.Name, last.Error)
	case last.State != "":
		return held, fmt.Sprintf("%s: %s", p.Name, last.State)
	case p.Unit != "":
		return held, fmt.Sprintf("%s: as before, %s", p.Name, quantity(last.Value, p.Unit))
	}
	return held, fmt.Sprintf("%s: as before", p.Name)
}

func at(p history.ProofRecord, m history.Moment) (list []history.Sample) {
	for _, s := range p.Samples {
		if s.Moment == m {
			list = append(list, s)
		}
	}
	return list
}

func firstNotOK(lists ...[]history.Sample) (history.Sample, bool) {
	for _, list := range lists {
		for _, s := range list {
			if !s.OK {
				return s, true
			}
		}
	}
	return history.Sample{}, false
}

func countNotOK(list []history.Sample) (n int) {
	for _, s := range list {
		if !s.OK {
			n++
		}
	}
	return n
}

func anyIn(list []history.Sample, state string) bool {
	return slices.ContainsFunc(list, func(s history.Sample) bool { return s.State == state })
}

func allIn(list []history.Sample, state string) bool {
	return !slices.ContainsFunc(list, func(s history.Sample) bool { return s.State != state })
}

func states(list []history.Sample) string {
	var names []string
	for _, s := range list {
		if !slices.Contains(names, s.State) {
			names = append(names, s.State)
		}
	}
	return strings.Join(names, ", then ")
}

func values(list []history.Sample) (out []float64) {
	for _, s := range list {
		out = append(out, s.Value)
	}
	return out
}

func median(list []history.Sample) float64 {
	v := values(list)
	slices.Sort(v)
	return v[len(v)/2]
}

func quantity(v float64, unit string) string {
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", v, unit))
}
