package router

import "time"

// ends are the agents that probes went from and to; a nil one is this process.
type ends struct{ from, to *attached }

// clocks are by how much the clock at the far end of a link is ahead of that at the near one, as
// the quickest round trip shows it: half of the trip is the way there (RFC 5905, 8). A fault may make
// one way slower than the other, so slower trips do not count.
type clocks struct {
	trip, ahead time.Duration
}

// with is what is known after a burst. Trips of about the quickest count too, as clocks drift.
func (c clocks) with(sending Sending, seen Sighting) clocks {
	quickest := clocks{}
	for i, n := range seen.Seen {
		if n >= len(sending.Back) || sending.Back[n] == 0 {
			continue
		}
		if trip := sending.Back[n] - sending.Sent[n]; quickest.trip == 0 || trip < quickest.trip {
			quickest = clocks{trip, seen.At[i] - sending.Sent[n] - trip/2}
		}
	}
	if quickest.trip == 0 || c.trip > 0 && quickest.trip > c.trip+c.trip/4 {
		return c
	}
	if c.trip > 0 {
		quickest.trip = min(quickest.trip, c.trip)
	}
	return quickest
}

// joined is a burst as both of its ends saw it. As long as no probe ever came back, There is 0.
func (c clocks) joined(s Sending, seen Sighting) Pings {
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
		there := time.Duration(0)
		if c.trip > 0 {
			there = max(0, seen.At[i]-s.Sent[n]-c.ahead)
		}
		all.There = append(all.There, there)
	}
	return all
}
