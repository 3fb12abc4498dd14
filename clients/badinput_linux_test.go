package clients

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/install"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestADiskThatIsFull(t *testing.T) {
	if !hosttest.Inside(t) {
		return
	}
	lock := newIndex(t).wheel(t, "")
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Cleanup(func() { exec.Command("umount", dir).Run() })
	c := cache{dir}
	_, err := tiny(lock).provide(t.Context(), c, python{})
	if err == nil || !strings.Contains(err.Error(), install.DiskFull) {
		t.Errorf("%v: want that the disk is full", err)
	}
	onlyLocks(t, c)
}
