package microvm

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Begin makes the machine usable: file systems, modules, and the program's
// directory. The program calls it before anything else.
func Begin() error {
	for _, m := range []struct{ kind, at string }{{"proc", "/proc"}, {"sysfs", "/sys"}, {"devtmpfs", "/dev"}, {"tmpfs", "/tmp"}} {
		if err := unix.Mount(m.kind, m.at, m.kind, 0, ""); err != nil {
			return fmt.Errorf("mount %s at %s: %w", m.kind, m.at, err)
		}
	}
	modules, err := filepath.Glob("/modules/*")
	if err != nil {
		return err
	}
	for _, path := range modules { // Glob sorts
		if err := load(path); err != nil {
			return fmt.Errorf("load %s: %w", filepath.Base(path), err)
		}
	}
	return nil
}

func load(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	err = unix.FinitModule(int(f.Fd()), "", 0)
	if errors.Is(err, unix.EEXIST) {
		return nil
	}
	return err
}

// StayAwake keeps the machine from ever being idle, so that its clock does not
// jump, for instance while it waits for a disk: a thread spins that gives way to
// all others.
func StayAwake() error {
	runtime.GOMAXPROCS(max(2, runtime.GOMAXPROCS(0))) // one of them is the thread's
	failed := make(chan error)
	go func() {
		runtime.LockOSThread()
		err := unix.SchedSetAttr(0, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_IDLE}, 0)
		failed <- err
		var turns atomic.Uint64
		for err == nil {
			turns.Add(1)
		}
	}()
	if err := <-failed; err != nil {
		return fmt.Errorf("keep the machine awake: %w", err)
	}
	return nil
}

// End tells how the program ended and switches the machine off. It does not
// return.
func End(status int) {
	fmt.Printf("\n%s%d\n", exitLine, status)
	unix.Sync()
	unix.Reboot(unix.LINUX_REBOOT_CMD_POWER_OFF)
	select {}
}
