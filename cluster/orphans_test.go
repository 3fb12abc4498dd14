package cluster

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// keeperMain is a process that owns a cluster on loopback, one of its nodes
// frozen, tells their numbers, and waits to be killed.
func keeperMain(dir string) error {
	path, err := os.Executable()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	defer cancel()
	c, err := Start(ctx, Options{Config: Config{Nodes: 2}, Network: NewLoopback(""), Dir: dir, Self: []string{path, "node"}})
	if err != nil {
		return err
	}
	if err := c.Nodes()[1].Set(ctx, "frozen"); err != nil {
		return err
	}
	fmt.Println("nodes", c.Nodes()[0].PID(), c.Nodes()[1].PID())
	<-ctx.Done()
	return ctx.Err()
}

// Nodes on loopback end with the process that started them, however it ends,
// also those that are frozen.
func TestNothingOutlivesTheKeeper(t *testing.T) {
	if runtime.GOOS != "linux" {
		hosttest.Skip(t, "only Linux ends a process with its parent")
	}
	keeper := exec.Command(self(t)[0], "keeper", t.TempDir())
	out, err := keeper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := keeper.Start(); err != nil {
		t.Fatal(err)
	}
	defer keeper.Wait()
	defer keeper.Process.Kill()
	var pids []int
	for lines := bufio.NewScanner(out); pids == nil; {
		if !lines.Scan() {
			t.Fatal("the keeper ended before it had a cluster")
		}
		if text, ok := strings.CutPrefix(lines.Text(), "nodes "); ok {
			for _, s := range strings.Fields(text) {
				pid, _ := strconv.Atoi(s)
				pids = append(pids, pid)
			}
		}
	}
	born := map[int]uint64{}
	for _, pid := range pids {
		if born[pid] = startTime(pid); born[pid] == 0 {
			t.Fatalf("node %d is not there", pid)
		}
	}
	keeper.Process.Kill()
	deadline := time.Now().Add(testBound)
	for _, pid := range pids {
		for alive(pid, born[pid]) {
			if time.Now().After(deadline) {
				t.Fatalf("node %d outlives the keeper", pid)
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

func alive(pid int, born uint64) bool {
	state, _ := osState(pid)
	return state != "" && startTime(pid) == born
}
