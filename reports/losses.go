package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// maxRanges is how many ranges of losses report.json holds; the seal's history
// has them all.
const maxRanges = 1000

// losses names what was lost, and places it in time.
func losses(v verdict.Verdict, found checker.Report, tables *history.Tables, landings []history.Landing) Losses {
	out := Losses{Total: found.Totals.Lost, Ranges: []LossRange{}}
	if out.Total > 0 {
		out.Proven, out.Why = verdict.ProvesLoss(v.Results, out.Total)
	}
	faults := history.Windows(landings)
	for _, span := range found.Lost[:min(len(found.Lost), maxRanges)] {
		out.Listed += span.Len()
		out.Ranges = append(out.Ranges, lossRange(span, tables, faults))
	}
	return out
}

// word is for what is missing: it is lost only where that is proven, or is nothing.
func (l Losses) word() string {
	if l.Proven || l.Total == 0 {
		return "lost"
	}
	return "missing"
}

func lossRange(s checker.Span, tables *history.Tables, faults []history.Window) LossRange {
	subscriber, stream := tables.Processes[s.Process], tables.Streams[s.Stream]
	r := LossRange{
		Subscriber: cmp.Or(s.Share, subscriber.Name), Group: subscriber.Group, Topic: stream.Topic, QoS: stream.QoS,
		First: s.First, Last: s.Last, FromNS: s.FromNS, ToNS: s.ToNS,
		When: whenOf(time.Duration(s.FromNS), time.Duration(s.ToNS), faults),
	}
	if p := stream.Producer; uint32(p) < uint32(len(tables.Processes)) {
		r.Publisher = tables.Processes[p].Name
	}
	return r
}

// A subscriberLoss is all that one subscriber, or a shared subscription, lost.
type subscriberLoss struct {
	Subscriber, Group string
	Count             int64
	Topics            int
	FromNS, ToNS      int64 // of their publishes
	When              string
}

// lostBy are the listed losses by subscriber, in the order of the listing.
func (r *Report) lostBy() (list []subscriberLoss) {
	topics := map[string]map[string]bool{}
	for _, l := range r.Losses.Ranges {
		i := slices.IndexFunc(list, func(s subscriberLoss) bool { return s.Subscriber == l.Subscriber })
		if i < 0 {
			i = len(list)
			list = append(list, subscriberLoss{Subscriber: l.Subscriber, Group: l.Group, FromNS: l.FromNS, ToNS: l.ToNS})
			topics[l.Subscriber] = map[string]bool{}
		}
		topics[l.Subscriber][l.Topic] = true
		s := &list[i]
		s.Count, s.Topics = s.Count+l.Last-l.First+1, len(topics[l.Subscriber])
		s.FromNS, s.ToNS = min(s.FromNS, l.FromNS), max(s.ToNS, l.ToNS)
	}
	faults := history.Windows(r.Landings)
	for i := range list {
		list[i].When = whenOf(time.Duration(list[i].FromNS), time.Duration(list[i].ToNS), faults)
	}
	return list
}

// whenOf places a span of time among the faults, in words.
func whenOf(from, to time.Duration, faults []history.Window) string {
	var words []string
	for _, f := range faults {
		switch {
		case to < f.Start:
			words = append(words, fmt.Sprintf("until %s before %s", short(f.Start-to), f.Fault))
		case from > f.End:
			words = append(words, fmt.Sprintf("from %s after %s was healed", short(from-f.End), f.Fault))
		case from < f.Start && to > f.End:
			words = append(words, fmt.Sprintf("across all of %s", f.Fault))
		case from < f.Start:
			words = append(words, fmt.Sprintf("from %s before %s until %s into it", short(f.Start-from), f.Fault, short(to-f.Start)))
		case to > f.End:
			words = append(words, fmt.Sprintf("from %s into %s until after it was healed", short(from-f.Start), f.Fault))
		default:
			words = append(words, fmt.Sprintf("%s to %s into %s", short(from-f.Start), short(to-f.Start), f.Fault))
		}
	}
	return strings.Join(words, "; ")
}

func short(d time.Duration) string {
	if d < time.Second {
		return d.Round(time.Millisecond).String()
	}
	return d.Round(10 * time.Millisecond).String()
}
