package router

import "github.com/robustmq/rmq-mcp/internal/offset"

// observed is what is known of the clocks at the two ends of a link after a burst.
func observed(known offset.Estimate, sending Sending, seen Sighting) offset.Estimate {
	for i, n := range seen.Seen {
		if n < len(sending.Back) && sending.Back[n] != 0 {
			known = known.With(sending.Sent[n], seen.At[i], sending.Back[n])
		}
	}
	return known
}

// joinedBy is a burst as both of its ends saw it. As long as no probe ever came back, There is empty.
func joinedBy(known offset.Estimate, s Sending, seen Sighting) Pings {
	all := s.Pings
	all.Arrived, all.Duplicated, all.Corrupted = len(seen.Seen), all.Duplicated+seen.Duplicated, all.Corrupted+seen.Corrupted
	latest := -1
	for i, n := range seen.Seen {
		if n >= len(s.Sent) {
			continue
		}
		if n < latest {
			all.Reordered++
		}
		latest = max(latest, n)
		if known.Known() {
			all.There = append(all.There, max(0, seen.At[i]-s.Sent[n]-known.Ahead()))
		}
	}
	return all
}
