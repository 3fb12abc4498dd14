package reports

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// sampleMatrix has a cell of every class.
func sampleMatrix(run string) Matrix {
	cell := func(sdk, protocol string, state verdict.State, line string) MatrixCell {
		return MatrixCell{Scenario: "mqtt/broker-kill-9", SDK: sdk, Protocol: protocol, Transport: "tcp", Flavor: "robustmq", Broker: "robustmq v0.4.11", State: state, Line: line, Failed: []string{}}
	}
	m := Matrix{
		Format: MatrixFormat, ID: "1122-0300-broker-kill-9-c0de", Scenarios: []string{"mqtt/broker-kill-9"}, Seed: 7, Tier: "smoke", Finished: true,
		Started: time.Date(2026, 11, 22, 3, 0, 0, 0, time.UTC), DurationS: 412, Headline: "6 of 10 runs pass; 2 deviations: 1 protocol implementation, 1 SDK version",
		Command: "rmq-mcp matrix mqtt/broker-kill-9 --flavor robustmq --seed 7", Notes: []string{},
		Cells: []MatrixCell{
			cell("go/paho.mqtt.golang@1.3.5", "mqtt3", verdict.PassSmoke, "PASS-smoke: 10 claims hold"),
			cell("go/paho.mqtt.golang@1.5.1", "mqtt3", verdict.FailOnce, "FAIL-once: not repeated: 12 messages are lost"),
			cell("go/paho.golang@0.23.0", "mqtt5", verdict.PassSmoke, "PASS-smoke: 10 claims hold"),
			cell("python/paho-mqtt@2.1.0", "mqtt3", verdict.FailOnce, `FAIL-once: <b>"12"</b> messages | are lost`),
			cell("python/paho-mqtt@2.1.0", "mqtt5", CellUnsupported, "the broker does not speak mqtt5"),
			cell("rust/rumqttc@0.24.0", "mqtt3", CellError, "cargo: no network"),
			cell("rust/rumqttc@0.24.0", "mqtt5", CellPending, "not run yet"),
			cell("js/mqtt@5.16.0", "mqtt3", CellStarved, "the host was starved"),
			cell("js/mqtt@5.16.0", "mqtt5", verdict.InconclusiveFault, "the kill did not land"),
		},
		Attributions: []Attribution{
			{Cause: CauseProtocol, Proof: "wire", Claims: []string{"qos1-no-loss"}, Source: "MQTT 3.1.1 section 4.3.2", SDKs: []string{"python/paho-mqtt@2.1.0"}, Versions: "python/paho-mqtt 2.1.0",
				Scenario: "mqtt/broker-kill-9", Protocol: "mqtt3", Transport: "tcp", Broker: "robustmq v0.4.11", Text: "the wire shows robustmq v0.4.11 leaving the specification",
				Evidence: []string{"message 1/3: PUBACK at 3.2 s, never delivered"}, Runs: []string{run}, Next: []Step{{Why: "a repetition", Command: "rmq-mcp run mqtt/broker-kill-9 --seed 7"}}},
			{Cause: CauseUndecided, Suspect: CauseSDK, Claims: []string{"qos2-exactly-once"}, Versions: "go/paho.mqtt.golang 1.5.1", Text: "one version fails", Protocol: "mqtt3", Transport: "tcp", Scenario: "mqtt/broker-kill-9", Broker: "robustmq v0.4.11",
				Issue: "https://github.com/eclipse-paho/paho.mqtt.golang/issues/458", Runs: []string{"gone"}},
		},
	}
	m.Cells[3].RunID, m.Cells[1].RunID = run, "gone"
	return m
}

// If there are more scenarios than libraries, the table has a row for each
// scenario with its failures. Cells without faults have a column of their own.
func TestMatrixOfScenarios(t *testing.T) {
	cell := func(scenario, sdk, protocol string, noFaults bool, state verdict.State, failed ...string) MatrixCell {
		return MatrixCell{Scenario: scenario, SDK: sdk, Protocol: protocol, Transport: "tcp", Flavor: "robustmq", Broker: "robustmq v0.4.11", NoFaults: noFaults, State: state, Line: string(state), Failed: failed}
	}
	const own, nats = "go/rmq-mcp@1", "rust/async-nats@0.46.0"
	m := Matrix{
		Format: MatrixFormat, ID: "1125-0300-4-scenarios-c0de", Scenarios: []string{"mqtt/broker-kill-9", "mqtt/qos-roundtrip", "mqtt/will", "mq9/broker-kill-9"}, Tier: "smoke", Finished: true,
		Cells: []MatrixCell{
			cell("mqtt/broker-kill-9", own, "mqtt3", true, verdict.PassSmoke),
			cell("mqtt/qos-roundtrip", own, "mqtt3", true, verdict.FailOnce, "qos-granted"),
			cell("mqtt/will", own, "mqtt3", true, CellError),
			cell("mq9/broker-kill-9", nats, "mq9", true, verdict.PassSmoke),
			cell("mqtt/broker-kill-9", own, "mqtt3", false, verdict.FailOnce, "qos1-no-loss", "recovery"),
			cell("mq9/broker-kill-9", nats, "mq9", false, verdict.FailOnce, "mq9-no-loss"),
		},
		Attributions: []Attribution{{Cause: CauseUndecided, Claims: []string{"x"}, Scenario: "mqtt/will", NoFaults: true, Protocol: "mqtt3", Transport: "tcp", Broker: "robustmq v0.4.11", Text: "t"}},
	}
	dir := t.TempDir()
	must(t, WriteMatrix(dir, "../../runs", m))
	text := read(t, filepath.Join(dir, MatrixMarkdown))
	for _, want := range []string{
		"# 4 scenarios: ", "| Scenario | go/rmq-mcp@1 · mqtt3 · robustmq · no faults | go/rmq-mcp@1 · mqtt3 · robustmq | rust/async-nats@0.46.0 · mq9 · robustmq · no faults |",
		"| **mqtt** |", "| broker-kill-9 | ✓ passes | ✗ fails (qos1-no-loss, recovery) |  |  |", "| qos-roundtrip | ✗ fails (qos-granted) |  |  |  |",
		"| broker-kill-9 |  |  | ✓ passes | ✗ fails (mq9-no-loss) |", "| Where | mqtt/will without faults, mqtt3 over tcp", "- ! go/rmq-mcp@1, mqtt/will, mqtt3 on robustmq v0.4.11, no faults: error",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the table does not hold %q:\n%s", want, text)
		}
	}
	if page := read(t, filepath.Join(dir, matrixPage)); !strings.Contains(page, `<span class="scenario">go/rmq-mcp@1</span><span class="soft">mqtt3 · robustmq · no faults</span>`) {
		t.Error("the page has no column of what is without faults")
	}
}

// The blame for a failure comes into the report of its run, which still verifies.
func TestJoinBlame(t *testing.T) {
	run, _ := finished(t, runtest.Run{Lossy: true})
	must(t, JoinBlame(run, Blame{
		Headline: "qos1-no-loss: broker, by control",
		Experiments: []Experiment{
			{What: "all the same", RunID: "1121-0110-broker-kill-9-aaaa", State: verdict.FailOnce, Shows: "it fails so again"},
			{What: "with python/paho-mqtt@2.1.0", Shows: "nothing: no Python here"},
		},
		Attributions: []Attribution{{Cause: CauseBroker, Proof: "control", Claims: []string{"qos1-no-loss"}, Versions: "go/x 1", Broker: "robustmq v0.4.11", Text: "every library loses messages", SDKs: []string{}, Evidence: []string{}, Runs: []string{},
			Next: []Step{{Why: "the packets", Command: "rmq-mcp run mqtt/broker-kill-9 --arm tap"}}}},
		Open: []string{"one SDK was not tried"},
	}))
	if _, err := Verify(run); err != nil {
		t.Errorf("a run whose failure was blamed does not hold any more: %v", err)
	}
	validate(t, filepath.Join(run, ReportFile))
	report := read(t, filepath.Join(run, MarkdownFile))
	for _, want := range []string{
		"| Blame, by experiments | qos1-no-loss: broker, by control |", "| all the same | ❌ FAIL-once | it fails so again | `1121-0110-broker-kill-9-aaaa` |",
		"| with python/paho-mqtt@2.1.0 |  | nothing: no Python here |  |", "(qos1-no-loss), with go/x 1 on robustmq v0.4.11: every library loses messages.", "Open: the packets: `rmq-mcp run mqtt/broker-kill-9 --arm tap`", "- one SDK was not tried",
	} {
		if !strings.Contains(report, want) {
			t.Errorf("the report does not say %q:\n%s", want, report)
		}
	}
}

func TestMatrixPage(t *testing.T) {
	stateDir := t.TempDir()
	run := runtest.Run{ID: "1121-0107-broker-kill-9-3f2a", Lossy: true, Seconds: 12}.Record(t, filepath.Join(stateDir, RunsDir))
	_, err := Finish(run, runtest.Key)
	must(t, err)
	m := sampleMatrix(filepath.Base(run))
	must(t, WriteMatrix(filepath.Join(stateDir, MatricesDir, m.ID), "../../runs", m))
	must(t, JoinMatrix(run, m))
	if _, err := Verify(run); err != nil {
		t.Errorf("a run in a matrix does not hold any more: %v", err)
	}
	validate(t, filepath.Join(run, ReportFile))
	if report := read(t, filepath.Join(run, MarkdownFile)); !strings.Contains(report, "| **python/paho-mqtt@2.1.0** | ❌ FAIL-once |") || !strings.Contains(report, "- **protocol implementation** (qos1-no-loss)") {
		t.Errorf("the report does not show the matrix:\n%s", report)
	}
	dir := filepath.Join(stateDir, MatricesDir, m.ID)
	page := read(t, filepath.Join(dir, matrixPage))
	for _, want := range []string{
		`href="../../runs/1121-0107-broker-kill-9-3f2a/report.md"`, `class="fail"><a href`, `class="pass"`, `class="none"`, `class="error"`, `class="pending"`, `class="starved"`,
		"✗", "✓", "–", "protocol implementation", "suspected: SDK version", "MQTT 3.1.1 section 4.3.2", "rmq-mcp matrix mqtt/broker-kill-9",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not hold %q", want)
		}
	}
	if strings.Contains(page, "<b>\"12\"") || strings.Contains(page, `src="http`) {
		t.Error("the page obeys markup of others, or loads something from elsewhere")
	}
	text := read(t, filepath.Join(dir, MatrixMarkdown))
	for _, want := range []string{
		"| SDK | mqtt/broker-kill-9 · mqtt3 · robustmq | mqtt/broker-kill-9 · mqtt5 · robustmq |", "| paho-mqtt 2.1.0 | [✗ fails: protocol implementation](../../runs/1121-0107-broker-kill-9-3f2a/report.md) | – unsupported |",
		"### protocol implementation: python/paho-mqtt 2.1.0", "`rmq-mcp run mqtt/broker-kill-9 --seed 7`", "- – python/paho-mqtt@2.1.0, mqtt/broker-kill-9, mqtt5 on robustmq v0.4.11: the broker does not speak mqtt5",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("matrix.md does not hold %q:\n%s", want, text)
		}
	}
	got, err := ReadMatrix(dir)
	must(t, err)
	if len(got.Cells) != len(m.Cells) || got.Attributions[0].Cause != CauseProtocol {
		t.Errorf("%+v", got)
	}
}
