package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/microvm"
)

// TestMain is also the process of a layer, and gives the tests a mount
// namespace of their own: the test binary executes itself. In a machine it is the program.
func TestMain(m *testing.M) {
	if microvm.Inside() {
		status := 1
		if err := microvm.Begin(); err != nil {
			fmt.Println(err)
		} else {
			status = m.Run()
		}
		microvm.End(status)
	}
	if len(os.Args) == 3 && os.Args[1] == "disk" {
		if err := Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv("DISK_TEST_ALONE") == "" {
		again(m)
	}
	os.Exit(hosttest.Alone(m))
}

// again runs the tests in a mount namespace of their own, if there is one to
// be had; what mounts skips otherwise.
func again(m *testing.M) {
	cmd := exec.Command("/proc/self/exe", os.Args[1:]...)
	cmd.Env = append(os.Environ(), "DISK_TEST_ALONE=yes")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	err := cmd.Start()
	if err != nil {
		return
	}
	_ = cmd.Wait() // its exit status is ours
	os.Exit(cmd.ProcessState.ExitCode())
}

// started is a layer over a new data directory.
func started(t testing.TB, model Model) (*Client, string) {
	t.Helper()
	if os.Getenv("DISK_TEST_ALONE") == "" {
		hosttest.Skip(t, "no mount namespace of our own")
	}
	dir := t.TempDir()
	config := Config{Mount: filepath.Join(dir, "data"), Backing: filepath.Join(dir, "backing"), Model: model}
	if err := os.Mkdir(config.Mount, 0o755); err != nil {
		t.Fatal(err)
	}
	return startedWith(t, config), config.Mount
}

func startedWith(t testing.TB, config Config) *Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c, err := Start(context.Background(), config, Options{Command: []string{self, "disk"}, Log: os.Stderr})
	if errors.Is(err, errors.ErrUnsupported) {
		hosttest.Skip(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(context.Background()); err != nil && !t.Failed() {
			select {
			case <-c.Gone(): // ended by the test
			default:
				t.Error(err)
			}
		}
	})
	return c
}
