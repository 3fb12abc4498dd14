package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// mosquittoOf is mosquitto under another version. One that does not save each change loses
// with a kill all that it has not saved.
func mosquittoOf(t *testing.T, version string, saves bool) string {
	t.Helper()
	real := hosttest.Program(t, "mosquitto")
	change := "cat"
	if saves {
		change = "sed 's/^autosave_interval .*/autosave_interval 1/; s/^autosave_on_changes .*/autosave_on_changes true/'"
	}
	script := fmt.Sprintf("#!/bin/sh\n[ \"$1\" = -h ] && { echo 'mosquitto version %s'; exit 0; }\n%s \"$2\" > \"$2.changed\"\nexec %s -c \"$2.changed\"\n", version, change, real)
	path := filepath.Join(t.TempDir(), "mosquitto")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// A finding of one version is fixed in another one when that was run as often as it takes.
func TestFindingIsFixed(t *testing.T) {
	hosttest.Long(t, "four runs of a minute")
	dir := t.TempDir()
	bad, good := mosquittoOf(t, "2.0.1", false), mosquittoOf(t, "2.9.0", true)
	out, err := rmq(t, dir, "run", "mqtt/broker-kill-9", "--flavor", "mosquitto", "--binary", bad, "--seed", "7", "--no-repeat").Output()
	if exit := new(exec.ExitError); !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("a broker that saves seldom: %v\n%s", err, out)
	}
	listed := func() (all finding.Findings) {
		t.Helper()
		out, err := rmq(t, dir, "findings", "--json").Output()
		if err == nil {
			err = json.Unmarshal(out, &all)
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return all
	}
	var id string
	for _, f := range listed().Findings {
		if f.Claim == "qos1-no-loss" && f.Status.State == finding.Open {
			id = f.ID
		}
	}
	out, err = rmq(t, dir, "findings", "replay", id, "--binary", good).Output()
	if want := id + ": fixed in 2.9.0\n"; id == "" || err != nil || !strings.HasSuffix(string(out), want) {
		t.Errorf("%v, want %q after\n%s", err, want, out)
	}
	for _, f := range listed().Findings {
		if f.ID == id && (f.Status.String() != "fixed in 2.9.0" || len(f.Seen) != 2) {
			t.Errorf("%s: %s, %+v", id, f.Status, f.Seen)
		}
	}
}
