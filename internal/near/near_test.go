package near_test

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/near"
)

func TestHint(t *testing.T) {
	known := []string{"mqtt/broker-kill-9", "mq9/broker-kill-9", "mqtt/will", "mqtt/soak", "kill", "kill_all"}
	for word, want := range map[string]string{
		"mqtt/broker-kil": " (did you mean mqtt/broker-kill-9?)",
		"broker-kill-8":   " (did you mean mqtt/broker-kill-9 or mq9/broker-kill-9?)",
		"Soak":            " (did you mean mqtt/soak?)",
		"kil":             " (did you mean mqtt/broker-kill-9, mq9/broker-kill-9 or kill?)",
		"wil":             " (did you mean mqtt/will?)",
		"klil":            " (did you mean kill or mqtt/will?)",
		"mqtt/nope":       "; none",
		"entirely-else":   "; none",
		"":                "; none",
		"k":               "; none",

		strings.Repeat("kill", 1<<18): "; none",
	} {
		if got := near.Hint(word, known, "; none"); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
