package clients

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

func TestProvisionBuildsOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "cache")
	var builds atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			got, err := cache{dir}.once(t.Context(), "sdk", func(dir, _ string) error {
				builds.Add(1)
				return os.WriteFile(filepath.Join(dir, "driver"), nil, 0o644)
			})
			if err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(filepath.Join(got, "driver")); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := builds.Load(); n != 1 {
		t.Errorf("built %d times", n)
	}
}

func TestAFailedBuildLeavesNothing(t *testing.T) {
	dir := t.TempDir()
	broken := errors.New("disk full")
	c := cache{dir}
	if _, err := c.once(t.Context(), "sdk", func(_, _ string) error { return broken }); !errors.Is(err, broken) {
		t.Errorf("%v", err)
	}
	left, err := filepath.Glob(filepath.Join(dir, "sdk*"))
	if err != nil || len(left) != 1 || !strings.HasSuffix(left[0], ".lock") {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestProvisionWaitsNoLongerThanItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dir := t.TempDir()
	_, err := cache{dir}.once(t.Context(), "sdk", func(_, _ string) error {
		cancel()
		_, err := cache{dir}.once(ctx, "sdk", func(_, _ string) error { return nil })
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestNoPython(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	sdk, err := Resolve("python")
	if err != nil {
		t.Fatal(err)
	}
	_, err = Provision(t.Context(), t.TempDir(), nil, sdk, nil)
	if err == nil || !strings.Contains(err.Error(), "python") || !strings.Contains(err.Error(), "install") {
		t.Errorf("%v: want the next step", err)
	}
}

func TestBuiltin(t *testing.T) {
	sdk, err := ResolveFor("go", contract.MQTT5)
	if err != nil {
		t.Fatal(err)
	}
	program, err := Provision(t.Context(), t.TempDir(), []string{"/bin/rmq-mcp"}, sdk, nil)
	if err != nil || program.String() != "/bin/rmq-mcp driver paho.golang" {
		t.Errorf("%s, %v", program, err)
	}
}
