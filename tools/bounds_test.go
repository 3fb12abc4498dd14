package tools

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// Values that are of the right type and still not taken, or taken otherwise than a
// careless reader of JSON would.
func TestBoundsOfArguments(t *testing.T) {
	all := map[string]Tool{}
	for _, tool := range All((&host{}).backend(), envelope.Default("/state")) {
		all[tool.Name] = tool
	}
	text := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct{ tool, args, want string }{
		{"run_scenario", `{"scenario":"` + text(1001) + `"}`, `"scenario" is "xxxxx`},
		{"run_scenario", `{"scenario":"` + text(1001) + `"}`, "it has 1001 bytes, expected at most 1000"},
		{"get_logs", `{"match":"` + text(100_000) + `"}`, "it has 100000 bytes"},
		{"push_report", `{"report":{"runs":["latest"],"title":"` + text(201) + `"}}`, "expected at most 200"},
		{"push_report", `{"report":{"runs":["latest"],"title":"t","problem":"` + text(20_481) + `"}}`, "expected at most 20480"},
		{"push_report", `{"report":{"runs":["latest"],"title":"t","code_paths":["` + text(1001) + `"]}}`, "one has 1001 bytes"},
		{"push_report", `{"report":{"runs":[` + strings.Repeat(`"a",`, 200) + `"a"],"title":"t"}}`, "expected at most 200"},
		{"inject_fault", `{"type":"kill","target":"any","params":{"x":"` + text(17_000) + `"}}`, "expected at most 16384 bytes"},
		{"cluster_start", `{"config":{"settings":{"` + text(17_000) + `":1}}}`, "expected at most 16384 bytes"},
		{"run_scenario", `{"scenario":"a","seed":9007199254740993}`, `"seed" is 9007199254740993, expected an integer`},
		{"run_scenario", `{"scenario":"a","seed":"9007199254740993"}`, "expected an integer"},
		{"run_scenario", `{"scenario":"a","seed":1e400}`, "expected an integer"},
		{"run_scenario", `{"scenario":"a","seed":1.5}`, "expected an integer"},
		{"run_scenario", `{"scenario":"a","seed":-1}`, "expected 0 to"},
		{"run_scenario", `{"scenario":"a","seed":99999999999999999999999}`, "expected an integer"},
		{"inject_fault", `{"type":"kill","target":"any","params":{"seed":9007199254740993}}`, "more digits than are kept; give it as a string"},
		{"cluster_start", `{"config":{"pids":[9007199254740993]}}`, "expected an array of integers"},
		{"cluster_start", `{"config":"{\"pids\":[9007199254740993]}"}`, "expected an array of integers"},
		{"cluster_start", `{"config":"{} {}"}`, "expected an object"},
		{"cluster_start", `{"config":"null"}`, "expected an object"},
	} {
		args := map[string]any{}
		if err := unmarshal([]byte(c.args), &args); err != nil {
			t.Fatal(err)
		}
		_, err := check(all[c.tool], args)
		var bad *BadInput
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), "Nothing was changed") {
			t.Errorf("%s %.80s: %.300v, want %q", c.tool, c.args, err, c.want)
			continue
		}
		if len(err.Error()) > 2000 || len(bad.Recorded()) > 2000 {
			t.Errorf("%s %.80s is refused in %d bytes", c.tool, c.args, len(err.Error()))
		}
	}
}

// Digits are those that were written.
func TestNumbersKeepTheirDigits(t *testing.T) {
	for _, c := range []struct {
		of    Type
		given string
		want  any
	}{
		{String, `9007199254740993`, "9007199254740993"},
		{String, `1.10`, "1.10"},
		{Integer, `9007199254740992`, float64(1 << 53)},
		{Integer, `"7"`, 7.0},
		{Integer, `7.0`, 7.0},
		{Integer, `1e3`, 1000.0},
		{Number, `0.1`, 0.1},
		{Object, `{"a":[1,{"b":2.5}],"c":null}`, map[string]any{"a": []any{1.0, map[string]any{"b": 2.5}}, "c": nil}},
	} {
		args := map[string]any{}
		if err := unmarshal([]byte(`{"v":`+c.given+`}`), &args); err != nil {
			t.Fatal(err)
		}
		got, err := check(Tool{Params: []Param{{Name: "v", Type: c.of}}}, args)
		if err != nil || fmt.Sprintf("%#v", got["v"]) != fmt.Sprintf("%#v", c.want) {
			t.Errorf("%s as a %s is %#v, %v, want %#v", c.given, c.of, got["v"], err, c.want)
		}
	}
}

// Experiments that are live, whoever started them, leave room for so many more.
func TestExperimentsAtOnce(t *testing.T) {
	limits := envelope.Default("/state")
	limits.MaxExperiments = 2
	h := &host{live: []*fake{newFake("run-1", "")}}
	c := connectTo(t, h.server(t, Options{Envelope: limits}))
	for _, refused := range []bool{false, true, true} {
		got := callTool(t, c, "cluster_start", map[string]any{"wait_s": 0})
		if got.IsError != refused || refused && !strings.Contains(textOf(got), "max_experiments: 2") {
			t.Errorf("beside %d: %s", len(h.live), textOf(got))
		}
	}
	if got := callTool(t, c, "run_scenario", map[string]any{"scenario": "mqtt/broker-kill-9", "wait_s": 0}); !got.IsError || len(h.started) != 1 {
		t.Errorf("started %d: %s", len(h.started), textOf(got))
	}
}
