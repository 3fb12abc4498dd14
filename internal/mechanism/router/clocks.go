package router

import "time"

// clocks are by how much the clock at the far end of a link is ahead of that at the near one, as
// the quickest round trip shows it: half of the trip is the way there (RFC 5905, 8). A fault may make
// one way slower than the other, so slower trips do not count, but for what clocks drift apart
// meanwhile.
type clocks struct {
	trip, ahead time.Duration
	at          time.Duration // when, by the clock of this process
}

// drift is how far the clocks of machines drift apart, in parts of the time that passes.
const drift = 20e-6

// reversed is what is known of the link the other way round.
func (c clocks) reversed() clocks { return clocks{c.trip, -c.ahead, c.at} }

// with is what is known after a burst.
func (c clocks) with(sending Sending, seen Sighting, now time.Duration) clocks {
	best := clocks{at: now}
	for i, n := range seen.Seen {
		if n >= len(sending.Back) || sending.Back[n] == 0 {
			continue
		}
		if trip := sending.Back[n] - sending.Sent[n]; best.trip == 0 || trip < best.trip {
			best.trip, best.ahead = trip, seen.At[i]-sending.Sent[n]-trip/2
		}
	}
	oldest := c.trip + time.Duration(drift*float64(now-c.at))
	if best.trip == 0 || c.trip > 0 && best.trip > oldest {
		return c
	}
	return best
}

// joined is a burst as both of its ends saw it. As long as no probe ever came back, There is empty.
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
		if c.trip > 0 {
			all.There = append(all.There, max(0, seen.At[i]-s.Sent[n]-c.ahead))
		}
	}
	return all
}
