package driver

import (
	"math"
	"time"
)

// catchUp is the longest delay that the pace makes up for. After a longer stall,
// the pace goes on from now: the missed messages are not sent in a burst.
const catchUp = 100 * time.Millisecond

// A pace spaces messages evenly. The zero value does not wait.
type pace struct {
	interval time.Duration
	next     time.Time
}

// newPace is the pace of the client with a number. At less than a message a second its first
// one is due at a moment of the interval that the number decides: a crowd of clients that
// begin together does not publish all at once, again and again.
func newPace(perSecond float64, client int32) *pace {
	if perSecond <= 0 {
		return &pace{}
	}
	p := &pace{interval: time.Duration(float64(time.Second) / perSecond)}
	if p.interval > time.Second {
		const golden = 0.618033988749895 // its multiples fall evenly into the interval
		_, part := math.Modf(float64(client) * golden)
		p.next = time.Now().Add(time.Duration(part * float64(p.interval)))
	}
	return p
}

// wait returns true when the next message is due, false if stop is closed
// first.
func (p *pace) wait(stop <-chan struct{}) bool {
	now := time.Now()
	if now.Sub(p.next) > catchUp {
		p.next = now
	}
	due := p.next
	p.next = p.next.Add(p.interval)
	if !due.After(now) {
		select {
		case <-stop:
			return false
		default:
			return true
		}
	}
	return sleep(due.Sub(now), stop)
}

// sleep waits for a time; it is false if stop is closed first.
func sleep(d time.Duration, stop <-chan struct{}) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-stop:
		return false
	}
}
