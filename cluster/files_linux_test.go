package cluster

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// The processes of a cluster may open as many files as this one, whatever limit a shell gave.
func TestNodesHaveFilesToOpen(t *testing.T) {
	const inside, shell = "RMQ_TEST_FILES", 512
	if os.Getenv(inside) == "" {
		cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -Sn %d && exec "$0" -test.run "^%s$"`, shell, t.Name()), os.Args[0])
		cmd.Env = append(os.Environ(), inside+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return
	}
	_, c := startCluster(t, Config{Nodes: 1})
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("sh", "-c", "ulimit -Sn").Output() // not a Go program, which raises it for itself
	if got := strings.TrimSpace(string(out)); err != nil || limit.Cur <= shell || got != fmt.Sprint(min(limit.Cur, usualFiles)) {
		t.Errorf("a child may open %s files, this process %d: %v", got, limit.Cur, err)
	}
	if got := c.Info().Host["open_files"]; got != fmt.Sprint(min(limit.Cur, usualFiles)) {
		t.Errorf("the run says %q", got)
	}
}
