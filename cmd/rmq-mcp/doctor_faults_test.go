package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/hosttest"
)

// Every type of fault is injected for real, lands and is healed: on the
// embedded cluster, and what that cannot have on mosquitto.
func TestEveryFaultLands(t *testing.T) {
	if testing.Short() {
		t.Skip("takes minutes")
	}
	doctor := rmq(t, t.TempDir(), "doctor", "--faults", "--json", "--flavor", "reference,mosquitto", "--upgrade-to", anotherBuild(t))
	out, err := doctor.Output()
	var rows []FaultRow
	if jsonErr := json.Unmarshal(out, &rows); jsonErr != nil {
		t.Fatalf("doctor: %v, %v: %s", err, jsonErr, out)
	}
	if err != nil {
		t.Errorf("doctor: %v: %s", err, summaryOf(rows))
	}
	for _, k := range faults.Catalog() {
		if proved(rows, k.Type) {
			continue
		}
		if hosttest.Required() {
			t.Errorf("%s did not land", k.Type)
		} else {
			t.Logf("%s did not land", k.Type)
		}
	}
	for _, r := range rows {
		if !r.OK {
			t.Errorf("%s on %s: %s, heal %s: %q, disturbed before: %q", r.Type, r.Target, r.Landing, r.Healed, r.Reasons, r.Disturbed)
		}
	}
}

// anotherBuild is the binary once more, with a version of its own.
func anotherBuild(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rmq-mcp-next")
	build := exec.Command("go", "build", "-ldflags", "-X github.com/robustmq/rmq-mcp/internal/build.release=v9.9.9", "-o", path, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build rmq-mcp: %v\n%s", err, out)
	}
	return path
}
