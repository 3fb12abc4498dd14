package cluster

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Commands in a pod find the broker among processes of other containers, which see other files,
// and act on no other process.
func TestInside(t *testing.T) {
	if os.Geteuid() != 0 {
		hosttest.Skip(t, "mount namespaces need root")
	}
	enter := hosttest.Program(t, "nsenter")
	broker := exec.Command(hosttest.Program(t, "unshare"), "--mount", "sh", "-c", "echo; read line")
	in, err := broker.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := broker.StdoutPipe()
	if err == nil {
		err = broker.Start()
	}
	if err == nil {
		_, err = out.Read(make([]byte, 1)) // by then it has its own namespace
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); broker.Wait() })
	inside := func(args ...string) (seen Inside, err error) {
		argv := append([]string{"--mount", "--target", fmt.Sprint(broker.Process.Pid), os.Args[0], "inside"}, args...)
		text, err := exec.Command(enter, argv...).Output()
		if err == nil && args[0] == "look" {
			err = json.Unmarshal(text, &seen)
		}
		return seen, err
	}
	seen, err := inside("look")
	if err != nil || seen.PID != broker.Process.Pid || seen.State != history.StateRunning {
		t.Fatalf("%+v, %v; the broker is process %d", seen, err, broker.Process.Pid)
	}
	pid, born := fmt.Sprint(seen.PID), fmt.Sprint(seen.Born)
	if _, err := inside("signal", "19", pid, fmt.Sprint(seen.Born+1)); err == nil {
		t.Error("a process with the number of the broker got its signal")
	}
	if _, err := inside("signal", "19", pid, born); err != nil {
		t.Fatal(err)
	}
	if seen, err := inside("look", pid, born); err != nil || seen.State != history.StateFrozen {
		t.Errorf("after SIGSTOP: %+v, %v", seen, err)
	}
	if _, err := inside("signal", "9", pid, born); err != nil {
		t.Fatal(err)
	}
	broker.Wait()
	if seen, err := inside("look", pid, born); err == nil {
		t.Errorf("after SIGKILL: %+v", seen)
	}
}
