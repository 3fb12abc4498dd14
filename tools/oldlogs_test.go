package tools

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// An agent has no other way to the logs of a run that is over.
func TestLogsOfAFinishedRun(t *testing.T) {
	dir := t.TempDir()
	writeRun(t, filepath.Join(dir, "run-0"), map[string]string{
		"evidence/logs/node-1.log": "[INF] a\n[ERR] b\n[INF] c\n",
		"evidence/logs/node-2.log": "x: Warning: d\n[ERR] e\nf\n",
		"evidence/logs/node-3.log": "g password=hunter2 \x1b[1mlight\x1b[0m\n",
	})
	c := connectTo(t, (&host{runs: dir}).server(t, Options{}))
	texts := func(args map[string]any) (string, map[string]any) {
		args["experiment"] = "run-0"
		got := structured(t, callTool(t, c, "get_logs", args))
		var all []string
		for _, l := range got["lines"].([]any) {
			line := l.(map[string]any)
			if line["at_s"] != nil {
				t.Errorf("a time nobody recorded: %v", line)
			}
			all = append(all, fmt.Sprint(line["text"]))
		}
		return strings.Join(all, "|"), got
	}
	if got, _ := texts(map[string]any{"level": "warn"}); got != "[ERR] b|x: Warning: d|[ERR] e" {
		t.Error(got)
	}
	if got, _ := texts(map[string]any{"match": "R. b", "context": 1}); got != "[INF] a|[ERR] b|[INF] c" {
		t.Error(got)
	}
	if got, _ := texts(map[string]any{"match": "hunter2"}); got != "" {
		t.Errorf("a match tells what the log has of a secret: %s", got)
	}
	if got, _ := texts(map[string]any{"match": "light$"}); got != "g password=[scrubbed] light" {
		t.Error(got)
	}
	first, page := texts(map[string]any{"limit": 4})
	rest, last := texts(map[string]any{"limit": 5, "after": page["next"]})
	if first+"|"+rest != "[INF] a|[ERR] b|[INF] c|x: Warning: d|[ERR] e|f|g password=[scrubbed] light" || page["truncated"] != true || last["next"] != nil {
		t.Errorf("%s, then %s", first, rest)
	}
	for _, bad := range []struct {
		args map[string]any
		want string
	}{
		{map[string]any{"node": "node-9"}, "node-1, node-2, node-3"},
		{map[string]any{"time_range": map[string]any{"from_s": 3.0}}, "leave time_range out"},
		{map[string]any{"time_range": map[string]any{"from_s": 3.0, "to_s": 2.0}}, "swap them"},
		{map[string]any{"match": "("}, "regular expression"},
	} {
		bad.args["experiment"] = "run-0"
		if r := callTool(t, c, "get_logs", bad.args); !r.IsError || !strings.Contains(textOf(r), bad.want) {
			t.Errorf("%v: %s", bad.args, textOf(r))
		}
	}
}
