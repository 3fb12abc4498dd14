package conformance

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"
)

// A Trial is one check that runs. It ends where a verdict is known, as a test
// does: the methods that say one do not return.
type Trial struct {
	Ctx   context.Context // of Run, ends with it
	Bound time.Duration   // when it is given up that its own bounds did not end; 0: three minutes

	began   time.Time
	mu      sync.Mutex
	ended   bool
	packets []string
	latest  noted // the last of packets
	verdict Verdict
	why     string
}

// checkBound is the Bound of most checks.
const checkBound = 3 * time.Minute

// Run runs a check in a goroutine of its own, which a verdict ends, and cleans up
// behind it. A check that returns found that the broker conforms.
func (t *Trial) Run(ctx context.Context, check, clean func()) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(t.Bound, checkBound))
	defer cancel()
	t.Ctx, t.began = ctx, time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer clean()
		defer func() {
			if failed := recover(); failed != nil { // nothing that a broker does ends the other checks
				t.verdict, t.why = Undecided, fmt.Sprintf("the check itself failed: %v", failed)
			}
		}()
		check()
		t.verdict = Conforms
	}()
	<-done
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended = true
}

// Result is what a check that has run says of its statement.
func (t *Trial) Result(s Statement, known []Known) Result {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := Result{Statement: s, Verdict: t.verdict, Why: t.why, Took: time.Since(t.began), Packets: t.packets}
	if r.Verdict == Violates {
		r.Known = find(known, s)
	}
	return r
}

// End ends the check with a verdict and its reason.
func (t *Trial) End(v Verdict, format string, args ...any) {
	t.verdict, t.why = v, fmt.Sprintf(format, args...)
	runtime.Goexit()
}

// Violates, Unsupported and Undecided end the check.
func (t *Trial) Violates(format string, args ...any)    { t.End(Violates, format, args...) }
func (t *Trial) Unsupported(format string, args ...any) { t.End(Unsupported, format, args...) }
func (t *Trial) Undecided(format string, args ...any)   { t.End(Undecided, format, args...) }

// transcriptLines is how many packets a transcript keeps, of the first and of
// the last ones each.
const transcriptLines = 40

// A noted is a line of the transcript, and how often it came in a row.
type noted struct {
	said, line string // without its time, and with it
	times      int
}

// Note keeps one line of the transcript. One that says the same as the line before is
// counted there.
func (t *Trial) Note(name, arrow, format string, args ...any) {
	said := fmt.Sprintf("%-10s %s %s", name, arrow, fmt.Sprintf(format, args...))
	at := float64(time.Since(t.began).Microseconds()) / 1000
	line := fmt.Sprintf("%9.3f ms  %s", at, said)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ended { // a connection that is read to its end
		return
	}
	if said == t.latest.said {
		t.latest.times++
		t.packets[len(t.packets)-1] = fmt.Sprintf("%s (%d times, the last at %.3f ms)", t.latest.line, t.latest.times, at)
		return
	}
	t.latest = noted{said, line, 1}
	if len(t.packets) == 2*transcriptLines {
		t.packets = append(t.packets[:transcriptLines], t.packets[transcriptLines+1:]...)
	}
	t.packets = append(t.packets, line)
}

// After waits for a time that the protocol itself counts in.
func (t *Trial) After(d time.Duration) {
	select {
	case <-t.Ctx.Done():
		t.Undecided("the check was stopped: %v", t.Ctx.Err())
	case <-time.After(d):
	}
}
