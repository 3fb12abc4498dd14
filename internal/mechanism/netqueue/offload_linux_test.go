package netqueue_test

import (
	"errors"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// offload turns segmentation offload of the hosts' ends on or off, as ethtool -K
// does.
func (l *lab) offload(t testing.TB, on bool) {
	t.Helper()
	for _, name := range []string{"node-1", "node-2"} {
		err := netns.In(l.Host(t, name).NetNS(), func() error {
			return errors.Join(ethtool("eth0", unix.ETHTOOL_STSO, on), ethtool("eth0", unix.ETHTOOL_SGSO, on))
		})
		if err != nil {
			hosttest.Skip(t, "turn off segmentation offload: "+err.Error())
		}
	}
}

// ethtool sets one value of an interface: struct ifreq with a struct
// ethtool_value.
func ethtool(link string, command uint32, on bool) error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	value := struct{ command, on uint32 }{command: command}
	if on {
		value.on = 1
	}
	request := struct {
		name  [unix.IFNAMSIZ]byte
		value unsafe.Pointer
		rest  [16]byte
	}{value: unsafe.Pointer(&value)}
	copy(request.name[:], link)
	if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); e != 0 {
		return e
	}
	return nil
}
