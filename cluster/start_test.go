package cluster

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A broker that cannot start shows why, and takes the others with it.
func TestStartFails(t *testing.T) {
	script := filepath.Join(t.TempDir(), "broker")
	text := "#!/bin/sh\n[ \"$1\" = -h ] && { echo 'mosquitto version 9'; exit; }\necho Error: the sky is falling\nexit 3\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if exec.Command(script, "-h").Run() != nil {
		hosttest.Skip(t, "no shell")
	}
	opts := optionsFor(t, Config{Flavor: "mosquitto", Binary: script})
	_, err := Start(context.Background(), opts)
	if err == nil {
		t.Fatal("a broker that ends at once was started")
	}
	for _, want := range []string{"node-1", "status 3", "the sky is falling"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

// Where one of several does not come up, none is left.
func TestStartFailsTogether(t *testing.T) {
	opts := optionsFor(t, Config{Nodes: 3})
	f, config, err := check(opts.Config)
	if err != nil {
		t.Fatal(err)
	}
	opts.Config, opts.Logs = config, opts.Dir
	p, err := f.plan(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.nodes[2].dir, "node.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{flavor: f, plan: p}
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	defer cancel()
	err = c.startAll(ctx, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "node-3") || !strings.Contains(err.Error(), "node.json") {
		t.Errorf("error %v, want node-3 and what is wrong with its file", err)
	}
	for _, n := range p.nodes {
		if p := n.process(); p != nil && !p.exited() {
			t.Errorf("%s is left running", n.Name())
		}
	}
}
