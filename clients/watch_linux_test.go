package clients_test

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A driver that somebody stops is noticed when it goes on, or is gone.
func TestAStoppedDriverIsNoticed(t *testing.T) {
	for name, goOn := range map[string]syscall.Signal{"goes on": syscall.SIGCONT, "is killed": syscall.SIGKILL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, fake("good"), 1, two()...)
			syscall.Kill(r.Pid(), syscall.SIGSTOP)
			time.Sleep(2500 * time.Millisecond) // it is looked at each second
			syscall.Kill(r.Pid(), goOn)
			r.wait(t, "still", 1, func(e history.Event) bool { return stoodStill(e) && e.Process == 0 && e.Value >= 2 })
			r.Do(contract.Command{Do: "end", Process: contract.All})
			<-r.Done()
			if n := r.count(stoodStill); n != 1 {
				t.Errorf("%d times are recorded", n)
			}
		})
	}
}

// A driver that a fault of ours stops does not stand still by the doing of others.
func TestADriverThatWeStopIsNotNoticed(t *testing.T) {
	t.Parallel()
	r := start(t, fake("good"), 1, two()...)
	for _, state := range []string{history.StateFrozen, history.StateRunning} {
		if err := r.Set(t.Context(), state); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2500 * time.Millisecond)
	}
	r.finish(t)
	if n := r.count(stoodStill); n != 0 {
		t.Errorf("%d times are recorded", n)
	}
}

func stoodStill(e history.Event) bool {
	return e.Kind == history.KindObserve && e.Text == history.ObserveDriverStill
}

// A driver's end is the doing of others where they killed it, and we did not.
func TestWhoEndedADriver(t *testing.T) {
	for _, c := range []struct {
		name, mode string
		end        func(r run)
		others     string // what is said of it; "" where it is not theirs
	}{
		{"somebody kills it", "last words", func(r run) { syscall.Kill(r.Pid(), syscall.SIGKILL) }, "it ended without bye (signal: killed), and printed last: no memory is left"},
		{"a failure of its own", "own failure", func(r run) { r.Do(contract.Command{Do: "end", Process: contract.All}) }, "exit status 70"},
		{"a crash", "crash", func(r run) { r.Do(contract.Command{Do: "end", Process: contract.All}) }, ""},
		{"we close it", "good", func(r run) { r.Close() }, ""},
		{"a fault of ours kills it", "good", func(r run) { r.Set(t.Context(), history.EndKilled) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, fake(c.mode), 1, two()...)
			c.end(r)
			<-r.Done()
			var said []string
			for _, e := range r.all() {
				if e.Kind == history.KindDriver && e.Outcome == history.Fail {
					said = append(said, e.Text)
				}
			}
			if len(said) > 1 || (len(said) == 1) != (c.others != "") || len(said) == 1 && !strings.Contains(said[0], c.others) {
				t.Errorf("%q, want %q", said, c.others)
			}
		})
	}
}
