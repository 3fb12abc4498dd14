package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	t.Setenv(robustmqEnv, "")
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"flavor", Config{Flavor: "rabbit"}, "choose reference, robustmq, mosquitto or external"},
		{"profile", Config{Profile: "fast"}, "choose tested or as-shipped"},
		{"too many nodes", Config{Nodes: 6}, "choose 1 to 5"},
		{"negative nodes", Config{Flavor: "robustmq", Nodes: -1}, "choose 1 to 5"},
		{"mosquitto cluster", Config{Flavor: "mosquitto", Nodes: 3}, "set it to 1"},
		{"missing binary", Config{Flavor: "mosquitto", Binary: "/no/such/program"}, "no program at /no/such/program"},
		{"no binary", Config{Flavor: "robustmq"}, "set binary or RMQ_ROBUSTMQ_BIN"},
		{"binary of reference", Config{Binary: "/bin/true"}, "leave binary out"},
		{"unknown setting", Config{Settings: map[string]any{"sync": true}}, "it has ack_wait_ms, max_ack_pending, sync_always"},
		{"setting that hides a directive", Config{Flavor: "mosquitto", Settings: map[string]any{"autosave_interval": "1\nlog_dest file /tmp/x"}}, "is not one plain word"},
		{"setting that is a list", Config{Settings: map[string]any{"sync_always": []any{true}}}, "is no number, boolean or word"},
		{"setting of the wrong type", Config{Settings: map[string]any{"sync_always": 7}}, "sync_always"},
		{"no endpoints", Config{Flavor: "external"}, "external needs endpoints"},
		{"endpoint", Config{Flavor: "external", Endpoints: []string{"host"}}, "not host:port"},
		{"endpoints elsewhere", Config{Endpoints: []string{"h:1"}}, "set flavor external"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := optionsFor(t, c.config)
			_, err := Start(context.Background(), opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if logs, _ := filepath.Glob(filepath.Join(opts.Dir, "logs", "*")); len(logs) > 0 {
				t.Errorf("something was started: %v", logs)
			}
		})
	}
}
