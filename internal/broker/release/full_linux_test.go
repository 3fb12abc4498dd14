package release

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A disk that is full while it downloads, and one that is while it unpacks.
func TestDiskFull(t *testing.T) {
	if os.Geteuid() != 0 {
		hosttest.Skip(t, "needs root, for a small disk")
	}
	small := strings.Repeat("\x00", 4<<20) // in the archive
	for name, binary := range map[string]string{"download": noise(t, 4<<20), "unpack": small} {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			if err := unix.Mount("tmpfs", cache, "tmpfs", 0, "size=1m"); err != nil {
				hosttest.Skip(t, fmt.Sprintf("mount a small disk: %v", err))
			}
			t.Cleanup(func() {
				if err := unix.Unmount(cache, unix.MNT_DETACH); err != nil {
					t.Error(err)
				}
			})
			_, err := fetch(publish(t, pack(t, map[string]string{top + "libs/broker-server": binary})), cache)
			if err == nil || !strings.Contains(err.Error(), "make room") {
				t.Errorf("error %v", err)
			}
			noHalves(t, cache)
		})
	}
}
