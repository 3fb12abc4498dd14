package reports

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// Panics are counted by place over all nodes, the most frequent first.
func TestPanicsIn(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, EvidenceDir, LogsDir)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	for node, text := range map[string]string{
		"node-1": "INFO a\nthread 'x' panicked at src/once.rs:3:1:\nno\nthread 'y' panicked at src/often.rs:4:1:\nkey 1\n",
		"node-2": "thread 'y' panicked at src/often.rs:4:1:\nkey 2\nthread 'main' has overflowed its stack\n",
	} {
		if err := os.WriteFile(filepath.Join(logs, node+".log"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, cut, err := Dir(dir).Panics([]history.Node{{Name: "node-1"}, {Name: "node-2"}, {Name: "node-3"}, {Name: "../logs/node-1"}})
	want := []Panic{
		{File: "src/often.rs", Line: 4, Message: "key 1", Count: 2, Nodes: []string{"node-1", "node-2"}, Log: "evidence/logs/node-1.log", LogLine: 4},
		{File: "src/once.rs", Line: 3, Message: "no", Count: 1, Nodes: []string{"node-1"}, Log: "evidence/logs/node-1.log", LogLine: 2},
		{Message: "stack overflow", Count: 1, Nodes: []string{"node-2"}, Log: "evidence/logs/node-2.log", LogLine: 3},
	}
	if err != nil || cut || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
