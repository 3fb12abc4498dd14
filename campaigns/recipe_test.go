package campaigns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func sumOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// A run that cannot be repeated is refused with the reason before anything is
// begun.
func TestRecipeRefuses(t *testing.T) {
	const text = "---\nname: mqtt/kill\n---\n"
	binary := filepath.Join(t.TempDir(), "broker")
	if err := os.WriteFile(binary, []byte("a build"), 0o755); err != nil {
		t.Fatal(err)
	}
	run := history.Run{Format: history.Format, ID: "r1", Tool: "v0", Scenario: "mqtt/kill", ScenarioSHA: sumOf(text), Seed: 7}
	run.Cluster.BinarySHA = sumOf("a build")
	start := keeper.Start{Scenario: "mqtt/kill", Cluster: cluster.Config{Flavor: "mosquitto", Binary: binary}}
	for _, c := range []struct {
		name   string
		spoil  func(*history.Run, *keeper.Start)
		binary string
		says   string
	}{
		{"by hand", func(r *history.Run, _ *keeper.Start) { r.Scenario = "" }, "", "explored by hand"},
		{"text", func(r *history.Run, _ *keeper.Start) { r.ScenarioSHA = sumOf("another") }, "", "not the text that was executed"},
		{"gone", func(_ *history.Run, s *keeper.Start) { s.Cluster.Binary = binary + "-old" }, "", "cannot be started here"},
		{"another build", func(r *history.Run, _ *keeper.Start) { r.Cluster.BinarySHA = sumOf("b build") }, "", "another build"},
		{"password", func(_ *history.Run, s *keeper.Start) { s.Cluster.Username = "admin" }, "", "password of admin is not recorded"},
		{"no file", func(_ *history.Run, s *keeper.Start) { s.Cluster = cluster.Config{Flavor: "reference"} }, binary, "cannot be started here"},
		{"old", nil, "", "did not keep how it was started"},
		{"moved", func(_ *history.Run, s *keeper.Start) { s.Cluster.Binary = binary + "-old" }, binary, "not sealed"}, // past the binary
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			run, start := run, start
			if c.spoil != nil {
				c.spoil(&run, &start)
			}
			evidence := reports.Dir(dir).Evidence()
			if err := os.MkdirAll(evidence, 0o755); err != nil {
				t.Fatal(err)
			}
			recorder, err := history.Create(evidence, history.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := recorder.Close(); err != nil {
				t.Fatal(err)
			}
			if err := history.WriteRun(evidence, &run); err != nil {
				t.Fatal(err)
			}
			if err := history.WriteLandings(evidence, nil); err != nil {
				t.Fatal(err)
			}
			if err := reports.WriteHarness(evidence, nil); err != nil {
				t.Fatal(err)
			}
			keep := map[string]string{reports.ScenarioFile: text}
			if c.spoil != nil {
				b, err := json.Marshal(start)
				if err != nil {
					t.Fatal(err)
				}
				keep[reports.StartFile] = string(b)
			}
			for name, content := range keep {
				if err := os.WriteFile(filepath.Join(evidence, name), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := ReadRecipe(t.TempDir(), dir, c.binary); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want one that says %q", err, c.says)
			}
		})
	}
}

// A run that another key sealed cannot name things of this machine to be acted on. The same
// run is repeated where it was sealed.
func TestRecipeOfAStranger(t *testing.T) {
	library, err := scenarios.Load("mqtt/broker-kill-9")
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "broker")
	if err := os.WriteFile(binary, []byte("a build"), 0o755); err != nil {
		t.Fatal(err)
	}
	upgrade := strings.Replace(library.Text, "schedule:\n", "schedule:\n  - {at_s: 1, fault: upgrade, target: all, duration_s: 4, params: {binary: /evil/broker}}\n", 1)
	external := cluster.Config{Flavor: "external", Nodes: 1, Endpoints: []string{"evil.example:1883"}}
	for _, c := range []struct {
		name  string
		of    func() cluster.Config
		text  string
		given string
		says  string // "": repeated
	}{
		{"endpoint", func() cluster.Config { return external }, library.Text, "", "evil.example:1883"},
		{"container", func() cluster.Config { c := external; c.Containers = []string{"postgres"}; return c }, library.Text, "", "postgres"},
		{"pod", func() cluster.Config { c := external; c.Pods = []string{"prod/broker-0"}; return c }, library.Text, "", "prod/broker-0"},
		{"process", func() cluster.Config { c := external; c.PIDs = []int{4711}; return c }, library.Text, "", "4711"},
		{"image", func() cluster.Config { return cluster.Config{Flavor: "mosquitto", Runtime: "docker", Image: "evil/x"} }, library.Text, "", "evil/x"},
		{"pods", func() cluster.Config { return cluster.Config{Flavor: "reference", Runtime: "kubernetes"} }, library.Text, "", "the runtime kubernetes"},
		{"document", func() cluster.Config {
			file := filepath.Join(t.TempDir(), "broker.yaml")
			text := "name: evil\nprogram: " + binary + "\nprotocols: [mqtt3]\nports: {mqtt: 1883}\ncommand: [evil]\npromises: {protocol: x}\n"
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			c, err := cluster.Config{Broker: file}.Load()
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, library.Text, "", "the document of a broker"},
		{"binary", func() cluster.Config { return cluster.Config{Flavor: "mosquitto", Binary: binary} }, library.Text, "", binary},
		{"binary given", func() cluster.Config { return cluster.Config{Flavor: "mosquitto", Binary: binary} }, library.Text, binary, ""},
		{"binary of a fault", func() cluster.Config { return cluster.Config{Flavor: "reference"} }, upgrade, "", "/evil/broker"},
		{"nothing", func() cluster.Config { return cluster.Config{Flavor: "reference"} }, library.Text, "", ""},
		{"our own image", func() cluster.Config {
			c, err := cluster.Check(cluster.Config{Flavor: "reference", Runtime: "docker"})
			if err != nil {
				t.Fatal(err)
			}
			return c
		}, library.Text, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			here, there := t.TempDir(), t.TempDir()
			dir := runtest.Run{Seconds: 1}.Record(t, t.TempDir())
			evidence := reports.Dir(dir).Evidence()
			run, err := history.ReadRun(evidence)
			if err != nil {
				t.Fatal(err)
			}
			run.ScenarioSHA, run.Cluster.BinarySHA = sumOf(c.text), ""
			start, err := json.Marshal(keeper.Start{Scenario: run.Scenario, Cluster: c.of()})
			if err != nil {
				t.Fatal(err)
			}
			key, err := reports.LoadKey(there)
			err = errors.Join(err, history.WriteRun(evidence, run),
				os.WriteFile(filepath.Join(evidence, reports.ScenarioFile), []byte(c.text), 0o644),
				os.WriteFile(filepath.Join(evidence, reports.StartFile), start, 0o644))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := reports.Finish(dir, key); err != nil {
				t.Fatal(err)
			}
			if _, err := ReadRecipe(there, dir, c.given); err != nil {
				t.Errorf("where it was sealed: %v", err)
			}
			_, err = ReadRecipe(here, dir, c.given)
			switch {
			case c.says == "" && err != nil:
				t.Errorf("elsewhere: %v", err)
			case c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "another installation chose")):
				t.Errorf("elsewhere: got %v, want a refusal that names %s", err, c.says)
			}
		})
	}
}
