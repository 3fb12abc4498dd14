package league

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// Brokers that cannot take part are refused with the next step.
func TestFind(t *testing.T) {
	for want, names := range map[string][]string{
		"two brokers or more":    {"mosquitto"},
		"did you mean mosquitto": {"mosquito", "mochi@2.7.9"},
		"no broker \"external\"": {"external", "mosquitto"},
		"leave out @2.0.11":      {"mosquitto@2.0.11", "mochi@2.7.9"},
		"is named twice":         {"mochi@2.7.9", "mochi@2.7.9"},
	} {
		if _, err := Find(names); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: error %v, want %q in it", names, err, want)
		}
	}
	all, err := Find([]string{"mosquitto", "mochi@2.7.9", "mochi@2.6.5"})
	if err != nil || len(all) != 3 || all[1].String() != "mochi@2.7.9" || all[0].String() != "mosquitto" {
		t.Errorf("%v, error %v", all, err)
	}
}

// held is a league with stored results.
func held(t *testing.T) League {
	t.Helper()
	brokers, err := Find([]string{"mosquitto", "mochi@2.7.9", "nats-server@2.15.1", "aedes@1.2.0"})
	if err != nil {
		t.Fatal(err)
	}
	l := League{Brokers: brokers, Checks: []string{"session"}, Say: func(string) {}}
	for _, name := range []string{"mqtt/broker-kill-9", "mqtt/power-loss", "mq9/priority-order"} {
		s, err := scenarios.Load(name)
		if err != nil {
			t.Fatal(err)
		}
		l.Scenarios = append(l.Scenarios, s)
	}
	l.Runner.Dir = t.TempDir()
	row := func(name string, v conformance.Version, verdict conformance.Verdict, known string) exam.Row {
		return exam.Row{Name: name, Protocol: v.Protocol(), Number: "MQTT-4.4.0-1", Text: "it is sent again", Verdict: string(verdict), Known: known, Why: "seen", Packets: []string{"PUBLISH"}}
	}
	report := func(broker string, first conformance.Verdict, known string) Checked {
		return Checked{Checks: l.Checks, Report: exam.Report{Broker: broker, Results: []exam.Row{
			row("session/all-alike", conformance.V311, conformance.Conforms, ""),
			row("session/resends", conformance.V311, first, known),
			row("session/refused", conformance.V5, conformance.Violates, ""),
		}}}
	}
	for b, what := range map[Broker]Checked{
		brokers[0]: report("mosquitto 2.0.11", conformance.Conforms, ""),
		brokers[1]: report("mochi 2.7.9", conformance.Violates, "issue 1"),
		brokers[2]: report("nats-server 2.15.1", conformance.Undecided, ""),
	} {
		if err := l.store(b, "conformance", what); err != nil {
			t.Fatal(err)
		}
	}
	for b, states := range map[Broker][2]Trial{
		brokers[0]: {{State: verdict.PassSmoke}, {State: verdict.PassSmoke}},
		brokers[1]: {{State: verdict.FailOnce, Severity: verdict.Expected, Failed: []string{"qos1-no-loss"}}, {State: verdict.FailOnce, Severity: "P0", Failed: []string{"qos1-no-loss"}, Blame: "broker: lost", Run: "1130-power-loss"}},
		brokers[2]: {{State: verdict.PassSmoke}, {State: verdict.InconclusiveFault}},
	} {
		for i, s := range l.Scenarios[:2] {
			states[i].SHA = s.SHA
			if err := l.store(b, s.Name, states[i]); err != nil {
				t.Fatal(err)
			}
		}
	}
	return l
}

// Rows with differences come first, then violations. A cell that was not run or cannot be asked says
// nothing of its broker.
func TestTable(t *testing.T) {
	l := held(t)
	table := l.Table()
	var got []string
	for _, r := range table.Rows {
		var words []string
		for _, c := range r.Cells {
			words = append(words, c.Word)
		}
		got = append(got, r.Name+": "+strings.Join(words, ", "))
	}
	want := []string{
		"mqtt/broker-kill-9: passes, expected, passes, not run",
		"mqtt/power-loss: passes, fails, undecided, not run",
		"session/resends: conforms, known, undecided, not run",
		"session/refused: violates, violates, cannot be asked, not run",
		"mq9/priority-order: cannot be asked, cannot be asked, cannot be asked, cannot be asked",
		"session/all-alike: conforms, conforms, conforms, not run",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("rows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if n := len(table.Telling()); n != 4 || !strings.Contains(table.Rest(), "In 2 other rows") {
		t.Errorf("%d rows tell something; %s", n, table.Rest())
	}
}

// The pages have the sentence of the standard and the packets behind each violation.
func TestWrite(t *testing.T) {
	l, dir := held(t), filepath.Join(t.TempDir(), "out")
	if err := l.Table().Write(dir, l); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"league.md":             "| `session/refused` | MQTT 5.0 [MQTT-4.4.0-1] | **violates** | **violates** | cannot be asked | not run |",
		"mochi@2.7.9.md":        "PUBLISH",
		"mosquitto.md":          "MQTT 5.0 [MQTT-4.4.0-1]",
		"nats-server@2.15.1.md": "undecided",
	} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, %s\nwant %q in it", name, err, text, want)
		}
	}
	for _, want := range []string{
		"[mochi 2.7.9](mochi@2.7.9.md) | [nats-server 2.15.1](nats-server@2.15.1.md) | aedes@1.2.0 |",
		"- `mqtt/power-loss`, mochi 2.7.9: qos1-no-loss; blame: broker (run 1130-power-loss)",
	} {
		if text, _ := os.ReadFile(filepath.Join(dir, "league.md")); !strings.Contains(string(text), want) {
			t.Errorf("%s\nwant %q in it", text, want)
		}
	}
}

// Stored results are not made again, unless other checks are asked for.
func TestResumes(t *testing.T) {
	l := held(t)
	l.Brokers = l.Brokers[:3]
	l.Say = func(line string) { t.Errorf("it makes %s", line) }
	if err := l.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.Checks = []string{"share"}
	if _, ok := l.checked(l.Brokers[0]); ok {
		t.Error("other checks count as made")
	}
	changed := *l.Scenarios[0]
	changed.SHA = "another"
	if _, ok := l.tried(l.Brokers[0], &changed); ok {
		t.Error("a run of the scenario before its change counts")
	}
	l = held(t)
	if err := l.forget(); err != nil {
		t.Fatal(err)
	}
	if _, ok := l.tried(l.Brokers[0], l.Scenarios[0]); ok {
		t.Error("a forgotten run counts")
	}
}
