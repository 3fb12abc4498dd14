package campaigns

import (
	"os"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
)

func TestWhatTheDriverDeclaredOfItsProtocol(t *testing.T) {
	dir := reports.Dir(t.TempDir())
	if err := os.Mkdir(dir.Evidence(), 0o755); err != nil {
		t.Fatal(err)
	}
	r, err := history.Create(dir.Evidence(), history.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r.Process(history.Process{Name: "probe", SDK: paho15, Cannot: []string{"told"}})
	r.Process(history.Process{Name: "pub-1", SDK: official, Cannot: []string{"told", "protocol"}})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	for sdk, want := range map[string]bool{paho15: false, official: true} {
		if got, err := speaksEarlier(dir, sdk); err != nil || got != want {
			t.Errorf("%s: %v, %v; want %v", sdk, got, err, want)
		}
	}
}
