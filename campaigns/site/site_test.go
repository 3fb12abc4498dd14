package site

import (
	"crypto/sha256"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/reports/publish"
)

const (
	lossyRun = "1121-0107-broker-kill-9-3f2a"
	soundRun = "1121-0110-broker-kill-9-77aa"
)

// recorded is a state directory with three runs (messages are lost, all is well, it is under way)
// and a matrix of the first.
func recorded(t *testing.T) (stateDir string) {
	t.Helper()
	stateDir = t.TempDir()
	runs := filepath.Join(stateDir, reports.RunsDir)
	for _, dir := range []string{
		runtest.Run{ID: lossyRun, Lossy: true, Seconds: 12}.Record(t, runs),
		runtest.Run{ID: soundRun}.Record(t, runs),
	} {
		_, err := reports.Finish(dir, runtest.Key)
		must(t, err)
	}
	runtest.Run{ID: "1121-0120-broker-kill-9-0b0b", Open: true, Seconds: 1}.Record(t, runs)
	_, err := reports.AddWords(filepath.Join(runs, lossyRun), reports.Words{Title: "Sessions are gone after a kill", Problem: "<img src=x onerror=alert(1)> everything before the kill is lost", CodePaths: []string{"src/persist.c"}, ProposedSeverity: "P0"})
	must(t, err)
	cell := func(sdk string, state verdict.State, run string) reports.MatrixCell {
		return reports.MatrixCell{Scenario: "mqtt/broker-kill-9", SDK: sdk, Protocol: "mqtt3", Transport: "tcp", Flavor: "mosquitto", Broker: "mosquitto", State: state, Line: `<b>"12"</b>`, RunID: run}
	}
	m := reports.Matrix{
		Format: reports.MatrixFormat, ID: "1122-0300-broker-kill-9-c0de", Scenarios: []string{"mqtt/broker-kill-9"}, Started: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC),
		Cells: []reports.MatrixCell{cell("python/paho-mqtt@2.1.0", verdict.FailOnce, lossyRun), cell("go/paho.mqtt.golang@1.5.1", verdict.FailOnce, "gone")},
	}
	must(t, reports.WriteMatrix(filepath.Join(stateDir, reports.MatricesDir, m.ID), "../../runs", m))
	return stateDir
}

func TestSite(t *testing.T) {
	stateDir, out := recorded(t), t.TempDir()
	must(t, Write(stateDir, out))
	before := []string{finding.Folder + "/of-before.html", "runs/gone/index.html", "runs/gone/logs/node-1.html", "matrices/gone/index.html", "campaigns/gone.html"}
	foreign, outside := filepath.Join(out, "runs", "README.html"), filepath.Join(filepath.Dir(out), "outside.html")
	for _, page := range before {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(out, page)), 0o755))
		must(t, os.WriteFile(filepath.Join(out, page), nil, 0o644))
	}
	must(t, os.WriteFile(foreign, nil, 0o644))
	must(t, os.WriteFile(outside, nil, 0o644))
	var m manifest
	must(t, stored.ReadJSON(filepath.Join(out, manifestFile), &m))
	must(t, reports.WriteJSON(filepath.Join(out, manifestFile), manifest{append(append(m.Files, before...), "../outside.html")}))
	must(t, Write(stateDir, out)) // over itself
	all, err := finding.Load(stateDir)
	must(t, err)
	if len(all.Findings) == 0 {
		t.Fatal("no finding")
	}
	page := finding.Folder + "/" + all.Findings[0].ID + ".html"
	for name, wants := range map[string][]string{
		"index.html": {
			`href="runs/` + lossyRun + `/index.html"`, `class="state fail"`, `class="state pass"`, "unfinished", "PASS-smoke", `href="matrices/1122-0300-broker-kill-9-c0de/index.html"`,
			`<option value="qos1-no-loss">`, `href="` + page + `"`, `"id":"` + soundRun + `"`,
		},
		"runs/" + lossyRun + "/index.html":                 {"<table>", `src="timeline.svg"`, `href="logs/node-1.html"`, "Sessions are gone", `href="../../` + page + `"`},
		"matrices/1122-0300-broker-kill-9-c0de/index.html": {`href="../../runs/` + lossyRun + `/index.html"`},
		"runs/" + lossyRun + "/logs/node-1.html":           {`href="../evidence/logs/node-1.log"`, `href="../index.html"`},
		"coverage.html":                                    {"<h2>mosquitto</h2>", `<span>kill</span>`, `href="index.html#broker=mosquitto&amp;counted=yes&amp;fails=qos1-no-loss&amp;fault=kill"`, "No counted run decided: ", "Landed in no counted run: "},
		"versions.html":                                    {"<h2>mosquitto</h2>", "1 of 2"},
		"scenarios.html":                                   {`href="scenarios/mqtt/broker-kill-9.html"`, `href="index.html#broker=mosquitto&amp;counted=yes&amp;scenario=mqtt%2Fbroker-kill-9"`},
		"scenarios/mqtt/broker-kill-9.html":                {"rmq-mcp run mqtt/broker-kill-9", `href="../../index.html#scenario=mqtt%2Fbroker-kill-9"`, "steady_s"},
		"all.html":                                         {`href="runs/` + lossyRun + `/index.html"`, soundRun},
		"badge.svg":                                        {"1 open, worst P0"},
		"feed.xml":                                         {"<title>open: ", `href="` + page + `"`},
		"findings/index.html":                              {`href="` + all.Findings[0].ID + `.html"`},
		page:                                               {`href="../runs/` + lossyRun + `/index.html"`},
	} {
		text := read(t, out, name)
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not hold %q", name, want)
			}
		}
		for _, never := range []string{"<img src=x", `<b>"12"`, `src="http`, `<link rel="stylesheet`, "runs/gone"} {
			if strings.Contains(text, never) {
				t.Errorf("%s holds %q: it obeys markup of others, leads nowhere, or loads something from elsewhere", name, never)
			}
		}
	}
	for _, name := range []string{"timeline.svg", "report.json", "evidence/logs/node-1.log"} {
		read(t, out, "runs/"+lossyRun+"/"+name) // the page leads to it
	}
	for _, page := range []string{foreign, outside} {
		if _, err := os.Stat(page); err != nil {
			t.Errorf("%s is gone, which is somebody else's", page)
		}
	}
	for _, page := range before {
		if _, err := os.Stat(filepath.Join(out, page)); err == nil {
			t.Errorf("%s of before is still there", page)
		}
	}
}

// Tables count a run once, whoever copied it, and none with a planted defect. Brokers that
// somebody else runs are different ones where their endpoints are.
func TestCounted(t *testing.T) {
	stateDir := t.TempDir()
	runs := filepath.Join(stateDir, reports.RunsDir)
	end := func(r runtest.Run) string {
		dir := r.Record(t, runs)
		_, err := reports.Finish(dir, runtest.Key)
		must(t, err)
		return dir
	}
	one := end(runtest.Run{ID: soundRun, Seconds: 1})
	const twin = "1121-0111-broker-kill-9-77ab"
	must(t, os.CopyFS(filepath.Join(runs, twin), os.DirFS(one)))
	summary := filepath.Join(runs, twin, reports.SummaryFile)
	must(t, os.WriteFile(summary, []byte(strings.ReplaceAll(read(t, summary), soundRun, twin)), 0o644))
	s, err := newSite(stateDir, t.TempDir())
	must(t, err)
	must(t, s.write())
	if n := len(s.counted["mosquitto"]); n != 1 || len(s.Runs) != 2 {
		t.Errorf("%d of %d runs are counted, want one of a run and its copy", n, len(s.Runs))
	}
	r := &run{Row: reports.Row{Flavor: "external", Version: history.UnknownVersion}, Broker: "external"}
	r.judged(&reports.Report{Cluster: history.ClusterInfo{Config: map[string]any{"endpoints": []any{"127.0.0.1:1883"}}}})
	if r.On() != "external 127.0.0.1:1883" {
		t.Errorf("somebody else's broker is %q", r.On())
	}
	r = &run{Row: reports.Row{Flavor: "mosquitto", Version: "2.0.21", Planted: "resend"}, Broker: "mosquitto"}
	if r.On() != "mosquitto 2.0.21 with resend planted" {
		t.Errorf("a broker with a planted defect is %q", r.On())
	}
}

// Runs that decided nothing hold no claim, and make no badge green.
func TestNothingDecided(t *testing.T) {
	stateDir, out := t.TempDir(), t.TempDir()
	dir := runtest.Run{ID: soundRun}.Record(t, filepath.Join(stateDir, reports.RunsDir))
	must(t, reports.WriteHarness(reports.Dir(dir).Evidence(), []string{"the disk is full"}))
	_, err := reports.Finish(dir, runtest.Key)
	must(t, err)
	s, err := newSite(stateDir, out)
	must(t, err)
	must(t, s.write())
	if r := s.Runs[0]; !r.counted || r.Class() != "unclear" || len(r.Held)+len(r.Failed) > 0 {
		t.Errorf("%s, counted %v, holds %v, fails %v", r.State, r.counted, r.Held, r.Failed)
	}
	if text := read(t, out, "badge.svg"); !strings.Contains(text, "nothing decided") || strings.Contains(text, "none open") {
		t.Errorf("the badge is %s", text)
	}

	sound := &run{}
	sound.judged(&reports.Report{Verdict: verdict.Verdict{State: verdict.PassSmoke, Results: []verdict.Result{{Claim: verdict.Claim{Name: "recovery"}, Status: verdict.Pass}}}})
	if !slices.Equal(sound.Held, []string{"recovery"}) {
		t.Errorf("a run that passes, of an older report, holds %v", sound.Held)
	}
}

// A published copy has the same pages of its runs as the state directory.
func TestSiteOfPublished(t *testing.T) {
	stateDir, copied, out := recorded(t), filepath.Join(t.TempDir(), "copy"), t.TempDir()
	_, err := publish.Push(t.Context(), []string{filepath.Join(stateDir, reports.RunsDir, lossyRun)}, publish.Destination(copied), reports.Words{}, nil)
	must(t, err)
	must(t, Write(copied, out))
	if text := read(t, out, "runs/"+lossyRun+"/index.html"); !strings.Contains(text, `href="logs/node-1.html"`) {
		t.Error("the page has no log")
	}
}

func TestSiteOfNothing(t *testing.T) {
	out := t.TempDir()
	must(t, Write(t.TempDir(), out))
	for name, want := range map[string]string{"index.html": "No run yet", "badge.svg": "no run yet"} {
		if !strings.Contains(read(t, out, name), want) {
			t.Errorf("%s does not say %q", name, want)
		}
	}
}

// No run can say more on a page than text.
func TestMarkupIsShown(t *testing.T) {
	body, err := toHTML([]byte("# a\n\n<script>alert(1)</script> and <b onclick=x>b</b> and [x](javascript:alert(1))"))
	if err != nil || strings.Contains(string(body), "<script>") || strings.Contains(string(body), "<b ") || strings.Contains(string(body), "javascript:") {
		t.Errorf("%s, %v", body, err)
	}
}

// The hashes are those of every script in every page: under the policy that names them
// each runs.
func TestScriptHashes(t *testing.T) {
	out := t.TempDir()
	must(t, Write(recorded(t), out))
	hashes, err := ScriptHashes()
	must(t, err)
	seen := map[string]bool{}
	must(t, filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".html" {
			return err
		}
		for _, part := range strings.Split(read(t, path), "<script>")[1:] {
			script, _, _ := strings.Cut(part, "</script>")
			sum := sha256.Sum256([]byte(script))
			hash := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
			seen[hash] = true
			if !slices.Contains(hashes, hash) {
				t.Errorf("%s: a script would not run: %.60s", path, script)
			}
		}
		return nil
	}))
	if len(seen) != len(hashes) {
		t.Errorf("%d scripts in the pages, %d hashes", len(seen), len(hashes))
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func read(t testing.TB, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	must(t, err)
	return string(text)
}
