package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// binaryDir is where TestMain put the binary under test. A process of an
// experiment is the same binary started again, so the test's own will not do.
var binaryDir string

// lastLines of what a command told a person are shown with the test that failed.
const lastLines = 200

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "rmq-mcp-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// An ordinary user's processes must be able to execute it.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", binaryIn(dir), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0") // it also runs in empty containers
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build rmq-mcp: %v\n%s", err, out)
		return 1
	}
	binaryDir = dir
	return hosttest.Alone(m)
}

func binaryIn(dir string) string {
	name := "rmq-mcp"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(dir, name)
}

func binary() string { return binaryIn(binaryDir) }

// rmq returns a command of the binary with a state directory of its own. If the
// test fails, the last lines of the command's standard error are shown with it,
// not among the output of other tests.
func rmq(t testing.TB, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(binary(), append([]string{"--dir", dir}, args...)...)
	told, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = told // a file: what the binary leaves behind must not keep the test waiting
	t.Cleanup(func() {
		defer told.Close()
		if !t.Failed() {
			return
		}
		text, err := os.ReadFile(told.Name())
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		t.Logf("rmq-mcp %s: %v\n%s", args[0], err, strings.Join(lines[max(0, len(lines)-lastLines):], "\n"))
	})
	return cmd
}

// exitCode is that of a command that ended with err; -1 where it did not run.
func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			track, err := filepath.Abs("../../docs/track-record")
			if err != nil {
				return err
			}
			env.Setenv("PATH", binaryDir+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("BIN", binaryDir)
			env.Setenv("TRACK", track)
			env.Setenv("XDG_STATE_HOME", env.WorkDir+"/state")
			env.Setenv("RMQ_ROBUSTMQ_BIN", "")
			return nil
		},
		RequireExplicitExec: true,
	})
}
