package conformance

import (
	"context"
	"strings"
	"testing"
)

// A transcript counts what is said again and again, and keeps its first and last lines.
func TestTranscript(t *testing.T) {
	var x Trial
	x.Run(context.Background(), func() {
		for range 60 {
			x.Note("teller", "→", "told")
		}
		x.Note("spy", "←", "told")
		for i := range 3 * transcriptLines {
			x.Note("teller", "→", "%d", i)
		}
	}, func() {})
	got := x.Result(Statement{}, nil).Packets
	if len(got) != 2*transcriptLines {
		t.Fatalf("%d lines", len(got))
	}
	for i, want := range map[int]string{0: "teller     → told (60 times, the last at ", 1: "spy        ← told", 2: "→ 0", 2*transcriptLines - 1: "→ 119"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("line %d is %q, want %q", i, got[i], want)
		}
	}
}
