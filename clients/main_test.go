package clients_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/builtin"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The test binary stands in for rmq-mcp: re-executed with one of these set it
// is a driver.
const (
	asDriver = "RMQ_TEST_DRIVER" // the SDK of a built-in driver
	asFake   = "RMQ_TEST_FAKE"   // how a driver misbehaves
)

func TestMain(m *testing.M) {
	if name := os.Getenv(asDriver); name != "" {
		if err := builtin.Main(name, os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if mode := os.Getenv(asFake); mode != "" {
		fakeDriver(mode)
		return
	}
	hosttest.Waiting()
	code := hosttest.Alone(m)
	if cache.dir != "" && cache.dir != os.Getenv("RMQ_TEST_CACHE") {
		os.RemoveAll(cache.dir)
	}
	os.Exit(code)
}

// tool is the path of a program, or the test is skipped.
func tool(t testing.TB, name string) string {
	t.Helper()
	for _, path := range []string{name, "/usr/sbin/" + name, "/usr/local/sbin/" + name} {
		if found, err := exec.LookPath(path); err == nil {
			return found
		}
	}
	hosttest.Skip(t, name+" is not installed")
	return ""
}
