package main

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/doctor"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestAFaultOfEachFamilyLands is the smoke of TestEveryFaultLands, on one cluster.
func TestAFaultOfEachFamilyLands(t *testing.T) {
	t.Parallel()
	types := []string{"kill", "partition", "slow", "fds", "pause_client", "packet_delay"}
	rows := injectForReal(t, "--only", strings.Join(types, ","))
	for _, typ := range types {
		wantProved(t, rows, typ)
	}
}

// Every type of fault is injected for real, lands and is healed: on the
// embedded cluster, and what that cannot have on mosquitto.
func TestEveryFaultLands(t *testing.T) {
	hosttest.Long(t, "it injects every fault, one after the other")
	rows := injectForReal(t, "--flavor", "reference,mosquitto", "--upgrade-to", anotherBuild(t))
	for _, k := range faults.Catalog() {
		if !k.Example.Unsure {
			wantProved(t, rows, k.Type)
		}
	}
}

// injectForReal are the rows of `doctor --faults`, none of which may fail.
func injectForReal(t *testing.T, args ...string) []doctor.Row {
	t.Helper()
	out, err := rmq(t, t.TempDir(), append([]string{"doctor", "--faults", "--json"}, args...)...).Output()
	var rows []doctor.Row
	if jsonErr := json.Unmarshal(out, &rows); jsonErr != nil {
		t.Fatalf("doctor: %v, %v: %s", err, jsonErr, out)
	}
	if err != nil {
		t.Errorf("doctor: %v: %s", err, doctor.Summary(rows))
	}
	for _, r := range rows {
		if !r.OK {
			t.Errorf("%s on %s: %s, heal %s: %q, disturbed before: %q", r.Type, r.Target, r.Landing, r.Healed, r.Reasons, r.Disturbed)
		}
	}
	return rows
}

// wantProved wants a type to have landed, where this host must have all.
func wantProved(t *testing.T, rows []doctor.Row, typ string) {
	t.Helper()
	switch {
	case doctor.Proved(rows, typ):
	case hosttest.Required():
		t.Errorf("%s did not land", typ)
	default:
		t.Logf("%s did not land", typ)
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
