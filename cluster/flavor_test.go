package cluster

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

func TestConfig(t *testing.T) {
	t.Setenv(robustmqEnv, "")
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"flavor", Config{Flavor: "rabbit"}, "choose " + strings.Join(FlavorNames(Any), ", ")},
		{"profile", Config{Profile: "fast"}, "choose tested or as-shipped"},
		{"too many nodes", Config{Nodes: 6}, "choose 1 to 5"},
		{"negative nodes", Config{Flavor: "robustmq", Nodes: -1}, "choose 1 to 5"},
		{"mosquitto cluster", Config{Flavor: "mosquitto", Nodes: 3}, "set it to 1"},
		{"missing binary", Config{Flavor: "mosquitto", Binary: "/no/such/program"}, "no program at /no/such/program"},
		{"no binary", Config{Flavor: "robustmq"}, "set binary or RMQ_ROBUSTMQ_BIN"},
		{"binary of reference", Config{Binary: "/bin/true"}, "leave binary out"},
		{"unknown setting", Config{Settings: map[string]any{"sync": true}}, "it has ack_wait_ms, max_ack_pending, sync_always"},
		{"setting that hides a directive", Config{Flavor: "mosquitto", Settings: map[string]any{"autosave_interval": "1\nlog_dest file /tmp/x"}}, "expected a whole number from 0 to 2147483647"},
		{"setting that is a list", Config{Settings: map[string]any{"sync_always": []any{true}}}, "expected true or false"},
		{"setting of the wrong type", Config{Settings: map[string]any{"sync_always": 7}}, "setting sync_always of reference is 7, expected true or false"},
		{"a word for a number", Config{Flavor: "mosquitto", Settings: map[string]any{"max_inflight_messages": "banana"}}, `"banana", expected a whole number from 0 to 65535`},
		{"below the range", Config{Flavor: "mosquitto", Settings: map[string]any{"max_inflight_messages": -1.0}}, "is -1, expected"},
		{"above the range", Config{Flavor: "mosquitto", Settings: map[string]any{"max_inflight_messages": 1e99}}, "is 1e+99, expected"},
		{"half a message", Config{Flavor: "mosquitto", Settings: map[string]any{"max_inflight_messages": 1.5}}, "is 1.5, expected"},
		{"digits that would be lost", Config{Flavor: "robustmq", Settings: map[string]any{"meta_runtime.heartbeat_timeout_ms": 1e17}}, "expected a whole number"},
		{"no thread", Config{Flavor: "robustmq", Settings: map[string]any{"runtime.server_worker_threads": 0}}, "from 1 to 1024"},
		{"a secret that is no setting", Config{Flavor: "robustmq", Settings: map[string]any{"mqtt_runtime.auth.default_password": "hunter2"}}, "no setting"},
		{"settings of somebody else's", Config{Flavor: "external", Endpoints: []string{"h:1"}, Settings: map[string]any{"a": 1}}, "external takes no settings"},
		{"no endpoints", Config{Flavor: "external"}, "external needs endpoints"},
		{"endpoint", Config{Flavor: "external", Endpoints: []string{"host"}}, "not host:port"},
		{"queue limit of a broker of ours", Config{Flavor: "mosquitto", QueueLimit: 5}, "leave it out for mosquitto"},
		{"queue limit below 1", Config{Flavor: "external", Endpoints: []string{"a:1"}, QueueLimit: -1}, "at least 1"},
		{"endpoint twice", Config{Flavor: "external", Endpoints: []string{"lb:1", "b:1", "lb:1"}}, "endpoint lb:1 is named twice"},
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

// A value that JSON carried as 2e+06 must not reach a configuration file so.
func TestSettingsAreWholeNumbers(t *testing.T) {
	got, err := Effective(Config{Flavor: "mosquitto", Nodes: 1, Settings: map[string]any{"max_queued_messages": 2e6}})
	if err != nil || got["max_queued_messages"] != 2_000_000 {
		t.Errorf("max_queued_messages is %#v, %v", got["max_queued_messages"], err)
	}
}

// Every vendor's value must be one that the setting takes.
func TestVendorsSettings(t *testing.T) {
	for _, f := range Flavors() {
		settings := f.broker.settings()
		if _, err := settings.typed(f.Name, settings.vendors()); err != nil {
			t.Error(err)
		}
		for key := range settings {
			if secret.Names(key) && key != "mqtt_runtime.auth.secret_free_login" {
				t.Errorf("%s: %s is the name of a secret, and settings are recorded", f.Name, key)
			}
		}
	}
}
