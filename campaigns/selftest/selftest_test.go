package selftest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// With other clients or before another broker there is a row for each defect of a
// broker, client and protocol, and one that a client cannot have says so.
func TestSelftestSpread(t *testing.T) {
	ask := Options{SDKs: []string{"go", "python/paho-mqtt"}, Protocols: []string{"mqtt3", "mqtt5"}, Endpoints: []string{"127.0.0.1:1883"}}
	rows, err := ask.spread(allRows([]int64{200}))
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
	if _, err := (Options{SDKs: []string{"cobol"}}).spread(rows); err == nil || !strings.Contains(err.Error(), "cobol") {
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
		rows := []Row{{Dir: filepath.Join(dir, "first"), Right: true}, {Dir: filepath.Join(dir, "second"), Right: c.right}, {Lacks: "a host"}}
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
