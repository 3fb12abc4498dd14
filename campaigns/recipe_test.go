package campaigns

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
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
			evidence := filepath.Join(dir, reports.EvidenceDir)
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
			if _, err := ReadRecipe(dir, c.binary); err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("got %v, want one that says %q", err, c.says)
			}
		})
	}
}
