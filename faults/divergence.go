package faults

import (
	"context"
	"encoding/json"
	"fmt"
)

// ConfigDivergence restarts the target's nodes with one setting that differs
// from the rest of the cluster's. Healing restarts them as they were.
type ConfigDivergence struct {
	Setting string
	Value   any
}

// Name is config_divergence.
func (ConfigDivergence) Name() string { return "config_divergence" }

// Plan plans to restart every node with the setting, and asks each what it is
// now.
func (f ConfigDivergence) Plan(ctx context.Context, target Target) (*Injection, error) {
	settings := map[string]any{f.Setting: f.Value}
	return otherwise(ctx, target, otherLaunch{
		mechanism: "restart with a setting", key: "setting." + f.Setting,
		args:  launchArgs{Settings: settings},
		check: func(m Member) error { return m.Launchable("", settings) },
	})
}

func configDivergence() Kind {
	return Kind{
		Type:    "config_divergence",
		Ours:    true,
		Draw:    Draw{Never: "the setting must be named"},
		Summary: "the node is restarted with one setting that differs from the others'; healing restarts it as it was",
		Params: []Param{
			{Name: "setting", Doc: "one of the flavor's settings, as in cluster_start", Default: "", Required: true},
			{Name: "value", Doc: "its value on the target: a number, true, false or a word", Default: "", Required: true},
		},
		Targets: processTargets(),
		Example: Example{Target: "follower", Params: map[string]any{"duration_s": 4.0, "setting": "max_ack_pending", "value": "77"}},
		New: func(p Params) (Fault, error) {
			setting := p.text("setting")
			word := p.text("value")
			if setting == "" || word == "" {
				return nil, fmt.Errorf("parameters setting and value: neither may be empty")
			}
			return ConfigDivergence{Setting: setting, Value: plainValue(word)}, nil
		},
		Available: startsAgain,
	}
}

// plainValue reads a word as the number or the boolean that it spells.
func plainValue(word string) any {
	var v any
	if json.Unmarshal([]byte(word), &v) == nil {
		switch v.(type) {
		case bool, float64:
			return v
		}
	}
	return word
}
