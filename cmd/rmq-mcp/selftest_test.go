package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/plant"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestSelftest is the judge's own test: every lie of a client is blamed on it,
// every defect planted before a broker on the broker, and nothing on anybody
// where all is well.
func TestSelftest(t *testing.T) {
	hosttest.Long(t, "it tries every lie and every planted defect")
	out, err := rmq(t, t.TempDir(), "selftest", "--json", "--parallel", strconv.Itoa(5*runtime.NumCPU())).Output()
	var rows []SelftestRow
	if jsonErr := json.Unmarshal(out, &rows); jsonErr != nil {
		t.Fatalf("%v, %v: %s", err, jsonErr, out)
	}
	if err != nil || len(rows) != len(selftestRows([]int64{plant.Every})) {
		t.Errorf("%d rows of %d: %v", len(rows), len(selftestRows([]int64{plant.Every})), err)
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

// With other clients or before another broker there is a row for each defect of a
// broker, client and protocol, and one that a client cannot have says so.
func TestSelftestSpread(t *testing.T) {
	ask := selftesting{sdks: []string{"go", "python/paho-mqtt"}, protocols: []string{"mqtt3", "mqtt5"}, endpoints: []string{"127.0.0.1:1883"}}
	rows, err := ask.spread(selftestRows([]int64{200}))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, r := range rows {
		got[r.Name]++
		if r.Who != "broker" || r.flavor != "external" || r.endpoints[0] != "127.0.0.1:1883" {
			t.Errorf("%+v", r)
		}
	}
	if got["drop-delivery"] != 4 || got["outlive-session"] != 2 || got["mq9-forget"]+got["not-kept"]+got["early"] > 0 { // sessions have an end in MQTT 5 alone
		t.Errorf("%v", got)
	}
	if _, err := (selftesting{sdks: []string{"cobol"}}).spread(rows); err == nil || !strings.Contains(err.Error(), "cobol") {
		t.Errorf("an SDK that there is none of: %v", err)
	}
}

// Where a row is wrong its run is kept, and it alone.
func TestSelftestKeepsWhatIsWrong(t *testing.T) {
	for _, c := range []struct {
		name  string
		right bool
		want  []string
	}{{"all is right", true, nil}, {"a row is wrong", false, []string{"second"}}} {
		dir := filepath.Join(t.TempDir(), "runs")
		rows := []SelftestRow{{Dir: filepath.Join(dir, "first"), Right: true}, {Dir: filepath.Join(dir, "second"), Right: c.right}, {Lacks: "a host"}}
		for _, r := range rows[:2] {
			if err := os.MkdirAll(r.Dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		var said strings.Builder
		keepWrong(&said, dir, rows)
		var kept []string
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			kept = append(kept, e.Name())
		}
		if !slices.Equal(kept, c.want) || strings.Contains(said.String(), dir) == c.right {
			t.Errorf("%s: %v are kept, and said: %s", c.name, kept, said.String())
		}
	}
}
