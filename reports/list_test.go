package reports

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// store writes the summaries of n runs, a minute apart.
func store(t testing.TB, n int) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	for i := range n {
		row := Row{
			ID: fmt.Sprintf("1121-%04d-broker-kill-9-%04x", i, i), Scenario: "mqtt/broker-kill-9", Protocol: []string{"mqtt3", "mqtt5"}[i%2],
			Started: runtest.Start.Add(time.Duration(i) * time.Minute), State: []verdict.State{verdict.PassSmoke, verdict.FailReproducible, verdict.InconclusiveEnv}[i%3],
			Headline: strings.Repeat("of what was found ", 10), Root: strings.Repeat("ab", 32),
		}
		dir := filepath.Join(stateDir, RunsDir, row.ID)
		must(t, os.MkdirAll(filepath.Join(dir, EvidenceDir), 0o755))
		must(t, WriteJSON(filepath.Join(dir, SummaryFile), row))
		must(t, os.WriteFile(filepath.Join(dir, VerdictFile), []byte("{}"), 0o644))
	}
	return stateDir
}

func TestListFilters(t *testing.T) {
	stateDir := store(t, 6)
	must(t, os.MkdirAll(filepath.Join(stateDir, RunsDir, "1122-0000-hand-0000", EvidenceDir), 0o755))
	must(t, os.MkdirAll(filepath.Join(stateDir, RunsDir, "1122-0000-never-began"), 0o755))
	running := runtest.Run{ID: "1120-0000-broker-kill-9-ffff", Open: true, Seconds: 1}.Record(t, filepath.Join(stateDir, RunsDir))
	for _, c := range []struct {
		name   string
		filter Filter
		want   string
	}{
		{"all", Filter{}, "hand 5 4 3 2 1 0 ffff"},
		{"the newest", Filter{Limit: 2, Protocol: "mqtt3"}, "4 2"},
		{"failed", Filter{State: "fail"}, "4 1"},
		{"one state", Filter{State: "PASS-smoke"}, "3 0"},
		{"unfinished", Filter{State: "unfinished", Scenario: "mqtt/broker-kill-9"}, "ffff"},
		{"protocol", Filter{Protocol: "mqtt5"}, "5 3 1"},
		{"none", Filter{Scenario: "x"}, ""},
	} {
		rows, err := List(stateDir, c.filter)
		must(t, err)
		var got []string
		for _, r := range rows {
			switch {
			case r.Dir == running:
				got = append(got, "ffff")
			case r.Scenario == "":
				got = append(got, "hand")
			default:
				got = append(got, strings.TrimLeft(r.ID[len(r.ID)-4:len(r.ID)-1], "0")+r.ID[len(r.ID)-1:])
			}
		}
		if diff := cmp.Diff(c.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
	if rows, err := List(t.TempDir(), Filter{}); err != nil || len(rows) != 0 {
		t.Errorf("an empty state directory: %v, %v", rows, err)
	}
}

func TestFind(t *testing.T) {
	stateDir := store(t, 3)
	runs := filepath.Join(stateDir, RunsDir)
	last := filepath.Join(runs, "1121-0002-broker-kill-9-0002")
	for _, c := range []struct{ ref, want, wrong string }{
		{"latest", last, ""},
		{"1121-0002-broker-kill-9-0002", last, ""},
		{"1121-0002", last, ""},
		{last, last, ""},
		{"1121-000", "", "3 runs begin with"},
		{"1121-0001-broker-kill-9-0009", "", "did you mean 1121-0001-broker-kill-9-0001"},
		{"", "", "no run"},
	} {
		got, err := Find(stateDir, c.ref)
		if c.wrong == "" && (err != nil || got != c.want) {
			t.Errorf("Find(%q) = %q, %v, want %q", c.ref, got, err, c.want)
		}
		if c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("Find(%q) answers %v, want an error with %q", c.ref, err, c.wrong)
		}
	}
	if _, err := Find(t.TempDir(), "latest"); err == nil || !strings.Contains(err.Error(), "rmq-mcp run") {
		t.Errorf("Find in an empty state directory answers %v", err)
	}
}

func BenchmarkListOf1000(b *testing.B) {
	stateDir := store(b, 1000)
	for b.Loop() {
		if rows, err := List(stateDir, Filter{}); err != nil || len(rows) != 1000 {
			b.Fatal(len(rows), err)
		}
	}
}

func BenchmarkFindOf1000(b *testing.B) {
	stateDir := store(b, 1000)
	for b.Loop() {
		dir, err := Find(stateDir, "1121-0500-broker-kill-9-01f4")
		must(b, err)
		_, err = Dir(dir).Summary()
		must(b, err)
	}
}

func BenchmarkFindLatestOf1000(b *testing.B) {
	stateDir := store(b, 1000)
	for b.Loop() {
		_, err := Find(stateDir, "latest")
		must(b, err)
	}
}

func TestListDamaged(t *testing.T) {
	state := t.TempDir()
	dir := filepath.Join(state, RunsDir, "0101-0000-damaged-0000")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, SummaryFile), []byte(`{"run_id":"0101`), 0o644))
	rows, err := List(state, Filter{})
	if err != nil || len(rows) != 1 || rows[0].State != Unfinished || !strings.Contains(rows[0].Headline, "not readable") {
		t.Errorf("%+v, %v: want a row that says what cannot be read", rows, err)
	}
}

func TestRowsOnOneLine(t *testing.T) {
	stateDir := t.TempDir()
	run := filepath.Join(stateDir, RunsDir, "r1")
	must(t, os.MkdirAll(run, 0o755))
	must(t, os.WriteFile(filepath.Join(run, SummaryFile), []byte(`{"run_id":"r1","scenario":"a\nr2  PASS","headline":"\u001b[2Jx\r"}`), 0o644))
	rows, err := List(stateDir, Filter{})
	must(t, err)
	if rows[0].Scenario != "a r2  PASS" || rows[0].Headline != "␛[2Jx␍" {
		t.Errorf("the row is %+v", rows[0])
	}
}

// An agent's id is no path: a directory of that name where the server happens to run is
// not meant.
func TestFindIDIsNoPath(t *testing.T) {
	stateDir := store(t, 3)
	last := filepath.Join(stateDir, RunsDir, "1121-0002-broker-kill-9-0002")
	t.Chdir(t.TempDir())
	for _, name := range []string{"latest", "1121-0002-broker-kill-9-0002"} {
		must(t, os.MkdirAll(filepath.Join(name, EvidenceDir), 0o755))
		if got, err := FindID(stateDir, name); err != nil || got != last {
			t.Errorf("FindID(%q) = %q, %v, want %q", name, got, err, last)
		}
	}
	if got, err := FindID(stateDir, "../elsewhere"); err == nil {
		t.Errorf("a path is %s", got)
	}
}
