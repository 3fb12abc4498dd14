package clients

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Two Java drivers of two runs have the same pid, each in its namespace, and one
// /tmp: the virtual machine of the second says that the first has its file. Nothing
// but lines of the contract may come to stdout.
func TestJavaDriversOfTwoRuns(t *testing.T) {
	hosttest.Program(t, "java")
	if !hosttest.Inside(t) {
		return
	}
	if err := unix.Mount("tmpfs", "/tmp", "tmpfs", 0, ""); err != nil {
		t.Fatal(err)
	}
	dir := "/tmp/hsperfdata_root"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for pid := range 300 { // any that a process of this namespace may get
		file, err := os.Create(filepath.Join(dir, fmt.Sprint(pid)))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		if err := unix.Flock(int(file.Fd()), unix.LOCK_EX); err != nil {
			t.Fatal(err)
		}
	}
	said := func(flags ...string) string {
		out, err := exec.Command("java", append(flags, "-version")...).Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(out)
	}
	if said() == "" {
		hosttest.Skip(t, "this virtual machine says nothing of a file that is taken")
	}
	argv := java{}.program("", SDK{}).Argv
	if out := said(argv[1:slices.Index(argv, "-cp")]...); out != "" {
		t.Errorf("stdout of a driver begins with %q", out)
	}
}
