package cluster

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// A process that somebody else started is paused and thawed, and nothing else.
func TestForeignProcess(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 1})
	theirs := c.Nodes()[0]
	_, outside := startCluster(t, Config{Flavor: "external", Endpoints: c.Endpoints(""), PIDs: []int{theirs.PID()}})
	n := outside.Nodes()[0]
	for _, want := range []string{"killed", "stopped"} {
		if err := n.Set(ctx, want); !errors.Is(err, ErrUnsupported) || !strings.Contains(err.Error(), "use pause") {
			t.Errorf("set %s: %v", want, err)
		}
	}
	if err := n.Set(ctx, "frozen"); err != nil {
		t.Fatal(err)
	}
	if state, err := theirs.State(ctx); err != nil || state != history.StateFrozen {
		t.Errorf("their process is %s, %v", state, err)
	}
	if err := n.Set(ctx, "running"); err != nil {
		t.Fatal(err)
	}
	if err := outside.Stop(ctx); err != nil {
		t.Error(err)
	}
	outside.Kill()
	if state, err := theirs.State(ctx); err != nil || state != history.StateRunning {
		t.Fatalf("after the stop of what is not ours it is %s, %v", state, err)
	}
	if err := theirs.Set(ctx, "killed"); err != nil {
		t.Fatal(err)
	}
	<-n.process().ended()
	if err := n.Set(ctx, "frozen"); err == nil {
		t.Error("froze a process that is gone")
	}
	if err := n.Set(ctx, "running"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("brought back a process that is not ours: %v", err)
	}
}

// A pid that is another process's by now is refused, and that process goes on. So is one that
// listens elsewhere.
func TestForeignProcessOfAnother(t *testing.T) {
	_, c := startCluster(t, Config{Nodes: 1})
	other := exec.Command("sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Process.Kill(); other.Wait() })
	elsewhere, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer elsewhere.Close()
	for _, config := range []Config{
		{Flavor: "external", Endpoints: c.Endpoints(""), PIDs: []int{other.Process.Pid}},
		{Flavor: "external", Endpoints: c.Endpoints(""), PIDs: []int{os.Getpid()}},
		{Flavor: "external", Endpoints: []string{elsewhere.Addr().String()}, PIDs: []int{c.Nodes()[0].PID()}},
	} {
		_, err := Start(t.Context(), Options{Config: config, Network: NewLoopback("loopback"), Dir: t.TempDir(), Self: []string{os.Args[0], "node"}})
		if err == nil || !strings.Contains(err.Error(), "does not listen at "+config.Endpoints[0]) {
			t.Errorf("%+v: %v", config, err)
		}
	}
}

func TestForeignRefused(t *testing.T) {
	one := []string{"127.0.0.1:1883"}
	for want, config := range map[string]Config{
		"not two of them":              {Flavor: "external", Endpoints: one, PIDs: []int{2}, Containers: []string{"a"}},
		"2 containers for 1 endpoints": {Flavor: "external", Endpoints: one, Containers: []string{"a", "b"}},
		"2 pids for 1 endpoints":       {Flavor: "external", Endpoints: one, PIDs: []int{2, 3}},
		"no broker's pid":              {Flavor: "external", Endpoints: one, PIDs: []int{1}},
		"set flavor external":          {PIDs: []int{2}},
		"leave runtime out":            {Flavor: "external", Endpoints: one, Runtime: "docker"},
		`no runtime "nomad"`:           {Runtime: "nomad"},
		"image x is for the runtimes":  {Image: "x"},
		"for the flavor robustmq":      {Version: "v1.2.3"},
		"there is no process":          {Flavor: "external", Endpoints: one, PIDs: []int{1<<22 + 1}},
	} {
		_, err := Start(t.Context(), Options{Config: config, Network: NewLoopback("loopback"), Dir: t.TempDir(), Self: []string{os.Args[0], "node"}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", config, err, want)
		}
	}
}
