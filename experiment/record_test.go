package experiment

import (
	"testing"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
)

// A watcher that comes late is told what was said of the start, while it lasts.
func TestProgressOfTheStart(t *testing.T) {
	inBed(t, func(t *testing.T, b bed) {
		heard := func() (texts []string) {
			lines, stop := b.record.Progress()
			defer stop()
			b.record.say("now")
			for len(lines) > 0 {
				texts = append(texts, (<-lines).Text)
			}
			return texts
		}
		b.record.say("first")
		b.record.tell(keeper.Progress{})
		if got := heard(); len(got) != 2 || got[0] != "first" || got[1] != "now" {
			t.Errorf("in the start: %q", got)
		}
		for range 2 * startLines {
			b.record.say("more")
		}
		if got := heard(); len(got) != startLines+1 || got[0] != "first" {
			t.Errorf("after many lines: %q", got)
		}
		b.record.phase = history.PhaseLoad
		if got := heard(); len(got) != 1 {
			t.Errorf("after the start: %q", got)
		}
	})
}
