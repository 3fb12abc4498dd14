package live

import (
	"strings"
	"testing"
)

// A Stop hook sees what its own session began, and nothing else.
func TestStopHookOfASession(t *testing.T) {
	s := Status{
		Experiments: []Experiment{{RunID: "mine", Session: "a"}, {RunID: "anothers", Session: "b"}, {RunID: "of-a-watch"}},
		Jobs:        []Job{{ID: "series-mine", Session: "a", Working: true}, {ID: "series-anothers", Session: "b", Working: true}},
	}
	got := s.Session("a").Hook()
	if got["decision"] != "block" || !strings.Contains(got["reason"], "mine (") || !strings.Contains(got["reason"], "series-mine") || strings.Contains(got["reason"], "anothers") || strings.Contains(got["reason"], "of-a-watch") {
		t.Errorf("%v", got)
	}
	for _, other := range []string{"", "c"} {
		if got := s.Session(other).Hook(); len(got) > 0 {
			t.Errorf("session %q: %v", other, got)
		}
	}
}
