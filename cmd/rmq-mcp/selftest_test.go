package main

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/selftest"
	"github.com/robustmq/rmq-mcp/internal/plant"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestSelftest is the judge's own test: every lie of a client is blamed on it,
// every defect planted before a broker on the broker, and nothing on anybody
// where all is well.
func TestSelftest(t *testing.T) {
	hosttest.Long(t, "it tries every lie and every planted defect")
	out, err := rmq(t, t.TempDir(), "selftest", "--json", "--parallel", strconv.Itoa(5*runtime.NumCPU())).Output()
	var rows []selftest.Row
	if jsonErr := json.Unmarshal(out, &rows); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	all, _ := selftest.Options{Every: []int64{plant.Every}}.Rows()
	if err != nil || len(rows) != len(all) {
		t.Errorf("%d rows of %d: %v", len(rows), len(all), err)
	}
	for _, r := range rows {
		switch {
		case r.Lacks != "" && hosttest.Required():
			t.Errorf("%s %s was not tried: %s", r.Who, r.Name, r.Lacks)
		case r.Lacks != "":
			t.Logf("%s %s was not tried: %s", r.Who, r.Name, r.Lacks)
		case !r.Right:
			t.Errorf("%s %s: %s %v, blame %q%s", r.Who, r.Name, r.State, r.Failed, r.Blame, r.Wrong)
		}
	}
}

func TestSelftestNames(t *testing.T) {
	cmd := rmq(t, t.TempDir(), "selftest", "--only", "nothing")
	cmd.Stderr = nil
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "wrong-ack") {
		t.Errorf("%v: %s", err, out)
	}
}
