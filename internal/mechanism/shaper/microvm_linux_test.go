package shaper

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/internal/testing/microvm"
)

// TestMain makes the test binary the program of a machine, when it is started
// as one.
func TestMain(m *testing.M) {
	if !microvm.Inside() {
		os.Exit(hosttest.Alone(m))
	}
	status := 1
	if err := microvm.Begin(); err != nil {
		fmt.Println(err)
	} else {
		status = m.Run()
	}
	microvm.End(status)
}

// TestNetemInMicroVM runs TestNetem on a kernel that has sch_netem.
func TestNetemInMicroVM(t *testing.T) {
	hosttest.Long(t, "it boots a kernel")
	if microvm.Inside() {
		return
	}
	kernel := debianKernel(t)
	program := filepath.Join(t.TempDir(), "program")
	if err := microvm.BuildTest(t.Context(), program); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute) // a busy host makes it long
	defer cancel()
	m, err := microvm.Start(ctx, microvm.Options{
		Kernel: kernel, Program: program,
		Modules: []string{"veth", "sch_netem", "sch_htb", "cls_u32", "nf_tables"},
		Args:    []string{"-test.v", "-test.run=^TestNetem$|^TestRate$", "-test.timeout=60s"},
	})
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Wait()
	t.Log(out)
	if err != nil || !strings.Contains(out, "--- PASS: TestNetem") || !strings.Contains(out, "--- PASS: TestRate") {
		t.Errorf("%v", err)
	}
}

// debianKernel answers a kernel for machines, kept in the user's cache.
func debianKernel(t *testing.T) *microvm.Kernel {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	kernel, err := microvm.Cached(ctx)
	if err != nil {
		hosttest.Skip(t, err.Error())
	}
	return kernel
}
