package campaigns

import (
	"testing"

	"github.com/robustmq/rmq-mcp/reports"
)

func TestNeeded(t *testing.T) {
	for before, want := range map[reports.Times]int{{Failed: 1, Of: 1}: 3, {Failed: 5, Of: 5}: 3, {Failed: 1, Of: 2}: 5, {Failed: 2, Of: 6}: 7, {Failed: 1, Of: 20}: 32} {
		if got := Needed(before); got != want {
			t.Errorf("%+v: %d, want %d", before, got, want)
		}
	}
}
