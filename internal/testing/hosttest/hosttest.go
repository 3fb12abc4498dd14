// Package hosttest is for tests that need something of the host: they are
// skipped where it lacks that, or fail where nothing may be missing, and run in
// namespaces of their own.
package hosttest

import (
	"os"
	"os/exec"
	"testing"
	"time"
)

// Bound is how long a test waits for what must come. Only what hangs takes
// longer, on the busiest machine.
const Bound = time.Minute

// Required reports whether this host must have all that tests need:
// RMQ_TEST_REQUIRE is "all".
func Required() bool { return os.Getenv("RMQ_TEST_REQUIRE") == "all" }

// Skip skips a test for what the host lacks, or fails it where everything is
// required.
func Skip(t testing.TB, why string) {
	t.Helper()
	if Required() {
		t.Fatal("required: " + why)
	}
	t.Skip(why)
}

// Long skips a test of the long tier under -short, and says why it takes its
// time. It asks nothing of the host, so that RMQ_TEST_REQUIRE lets it pass.
func Long(t testing.TB, why string) {
	t.Helper()
	if testing.Short() {
		t.Skip("long: " + why)
	}
}

// Program answers where a program is, and skips where there is none.
func Program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		Skip(t, err.Error())
	}
	return path
}
