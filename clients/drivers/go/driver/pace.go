package driver

import "time"

// catchUp is the longest delay that the pace makes up for. After a longer stall
// the missed messages are left out and not sent in a burst. The next one is due when
// it was due before: a crowd that is spread stays so.
const catchUp = 100 * time.Millisecond

// A pace spaces messages evenly.
type pace struct {
	interval time.Duration
	next     time.Time
}

// newPace is the pace of messages whose first is put off for a time. At a rate of 0 none
// waits for the one before it.
func newPace(perSecond float64, first time.Duration) *pace {
	p := &pace{next: time.Now().Add(first)}
	if perSecond > 0 {
		p.interval = time.Duration(float64(time.Second) / perSecond)
	}
	return p
}

// wait returns true when the next message is due, false if stop is closed
// first.
func (p *pace) wait(stop <-chan struct{}) bool {
	if left := time.Until(p.next); left > 0 {
		return sleep(left, stop)
	}
	select {
	case <-stop:
		return false
	default:
		return true
	}
}

// step is to be called when the message goes that was due.
func (p *pace) step() {
	if late := time.Since(p.next); late > catchUp && p.interval > 0 {
		p.next = p.next.Add(late.Truncate(p.interval))
	}
	p.next = p.next.Add(p.interval)
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
