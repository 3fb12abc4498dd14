package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

func joined(list []string) string { return strings.Join(list, ", ") }

// words are a model on one line.
func (m Model) words() string {
	text := fmt.Sprintf("%d × %s, %s, %s", m.Nodes, strings.TrimSpace(m.Flavor+" "+m.Version), m.SDK, m.Protocol)
	if m.Transport != "tcp" {
		text += " over " + m.Transport
	}
	return text
}

// command makes an attempt of a scenario from a terminal; seed 0 is any.
func (m Model) command(scenario string, seed int64) string {
	text := "rmq-mcp run " + scenario
	for _, flag := range []struct{ name, value, usual string }{
		{"flavor", m.Flavor, ""}, {"nodes", fmt.Sprint(m.Nodes), ""}, {"sdk", m.SDK, ""}, {"protocol", m.Protocol, ""}, {"tier", m.Tier, ""},
		{"transport", m.Transport, "tcp"}, {"profile", m.Profile, "tested"}, {"runtime", m.Runtime, "process"},
		{"broker-version", m.Version, ""}, {"seed", fmt.Sprint(seed), "0"},
	} {
		if flag.value != "" && flag.value != flag.usual {
			text += fmt.Sprintf(" --%s %s", flag.name, flag.value)
		}
	}
	for _, at := range m.endpoints() {
		text += " --endpoint " + at
	}
	for _, key := range slices.Sorted(maps.Keys(m.Settings)) {
		text += fmt.Sprintf(" --set %s=%v", key, m.Settings[key])
	}
	return text
}

// endpoints are placeholders for those of somebody else's brokers: a plan names none.
func (m Model) endpoints() []string {
	if !m.Cluster().Foreign() {
		return nil
	}
	return slices.Repeat([]string{"HOST:PORT"}, m.Nodes)
}

// path is a scenario as `rmq-mcp run` takes it: its name, or its file, beside the
// plan's.
func (r *Record) path(id string) string {
	i := slices.IndexFunc(r.Plan.Scenarios, func(s Scenario) bool { return s.ID == id })
	name := r.Plan.Scenarios[i].Scenario
	if filepath.Ext(name) == ".md" && !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(r.File), name)
	}
	return name
}

// call makes an attempt by a tool.
func (it *Item) call(seed int64) string {
	m := it.Model
	config := m.Cluster()
	config.Nodes = 0 // a parameter of its own
	config.Endpoints = m.endpoints()
	if m.Profile == "tested" {
		config.Profile = ""
	}
	if m.Runtime == "process" {
		config.Runtime = ""
	}
	ask := map[string]any{"scenario": it.Scenario, "nodes": m.Nodes, "config": config, "protocol": m.Protocol, "tier": m.Tier}
	ask["sdks"] = []string{m.SDK}
	if m.Transport != "tcp" {
		ask["transport"] = m.Transport
	}
	if seed != 0 {
		ask["seed"] = seed
	}
	text, _ := json.Marshal(ask)
	return "run_scenario " + string(text)
}
