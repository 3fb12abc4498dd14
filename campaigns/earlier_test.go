package campaigns

import (
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

func TestWhatTheDriverDeclaredOfItsProtocol(t *testing.T) {
	dir := t.TempDir()
	r, err := history.Create(dir, history.Options{})
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
