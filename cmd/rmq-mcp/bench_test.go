package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// BenchmarkServeToToolsList starts the server as a host does, and waits for
// the answer to tools/list. ms/start leaves out the end of the process.
func BenchmarkServeToToolsList(b *testing.B) {
	dir := b.TempDir()
	var started time.Duration
	for b.Loop() {
		began := time.Now()
		w := openWire(b, dir)
		w.initialize()
		w.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		w.answers(1)
		started += time.Since(began)
		w.end()
	}
	b.ReportMetric(float64(started.Milliseconds())/float64(b.N), "ms/start")
}

// BenchmarkGetRunOf1000 asks a server with a thousand stored runs for one, by
// its id and as the latest.
func BenchmarkGetRunOf1000(b *testing.B) {
	dir := b.TempDir()
	if err := keeper.OpenState(dir); err != nil {
		b.Fatal(err)
	}
	for i := range 1000 {
		storeRun(b, dir, i)
	}
	for _, id := range []string{runName(500), "latest"} {
		b.Run("id="+id, func(b *testing.B) {
			w := openWire(b, dir)
			w.initialize()
			n := 0
			for b.Loop() {
				n++
				w.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"get_run","arguments":{"run_id":%q}}}`, n, id)
				if answer := string(w.answers(n)[n].Result); !strings.Contains(answer, "PASS-smoke") {
					b.Fatal(answer)
				}
			}
			w.end()
		})
	}
}

func runName(i int) string { return fmt.Sprintf("1121-%04d-broker-kill-9-%04x", i, i) }

// storeRun writes what get_run reads of a run that was judged.
func storeRun(b *testing.B, stateDir string, i int) {
	b.Helper()
	dir := filepath.Join(stateDir, reports.RunsDir, runName(i))
	evidence := reports.Dir(dir).Evidence()
	started := time.Date(2026, 11, 21, 0, i, 0, 0, time.UTC)
	v := verdict.Verdict{State: verdict.PassSmoke, Headline: strings.Repeat("what was found ", 10)}
	for range 8 {
		claim := verdict.Claim{Name: "qos1-no-loss", Text: strings.Repeat("what is promised ", 10)}
		v.Results = append(v.Results, verdict.Result{Claim: claim, Status: verdict.Pass, Summary: strings.Repeat("what was seen ", 5)})
	}
	for _, err := range []error{
		os.MkdirAll(evidence, 0o755),
		history.WriteRun(evidence, &history.Run{ID: runName(i), Scenario: "mqtt/broker-kill-9", Started: started}),
		history.WriteLandings(evidence, []history.Landing{{Fault: "f1", Type: "kill", Target: "leader"}}),
		store(filepath.Join(dir, reports.SummaryFile), reports.Row{ID: runName(i), State: v.State, Headline: v.Headline, Started: started}),
		store(filepath.Join(dir, reports.VerdictFile), v),
	} {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func store(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
