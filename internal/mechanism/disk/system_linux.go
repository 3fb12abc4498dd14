package disk

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Available says what this host lacks for a layer, wrapping
// errors.ErrUnsupported.
func Available() error {
	f, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Errorf("disk faults need FUSE: %w: %w; run as root, or let users open it: chmod 0666 /dev/fuse", err, errors.ErrUnsupported)
	case err != nil:
		return fmt.Errorf("disk faults need FUSE: %w: %w; load the module fuse, or give the container /dev/fuse", err, errors.ErrUnsupported)
	}
	return f.Close()
}

// Abort frees whoever waits for the FUSE mount whose number in
// /sys/fs/fuse/connections this is: every operation on it fails from now on.
// It mounts nothing where others see it. It wraps errors.ErrUnsupported where
// the caller may not; then the end of the process that serves it does the same.
func Abort(connection uint32) error {
	dir, err := fusectl()
	if err != nil {
		return fmt.Errorf("abort FUSE connection %d: %w", connection, err)
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, fmt.Sprintf("%d/abort", connection), unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil // it is gone
	}
	if err != nil {
		return fmt.Errorf("abort FUSE connection %d: %w", connection, err)
	}
	defer unix.Close(fd)
	if _, err := unix.Write(fd, []byte("1")); err != nil {
		return fmt.Errorf("abort FUSE connection %d: %w", connection, err)
	}
	return nil
}

// fusectl opens the control file system without a place in any tree.
func fusectl() (int, error) {
	fs, err := unix.Fsopen("fusectl", unix.FSOPEN_CLOEXEC)
	if err == nil {
		defer unix.Close(fs)
		err = unix.FsconfigCreate(fs)
	}
	if err != nil {
		return -1, fmt.Errorf("fusectl: %w: %w", err, errors.ErrUnsupported)
	}
	dir, err := unix.Fsmount(fs, unix.FSMOUNT_CLOEXEC, 0)
	if err != nil {
		return -1, fmt.Errorf("fusectl: %w: %w", err, errors.ErrUnsupported)
	}
	return dir, nil
}

// detach takes a mount of a layer away whose process is gone.
func detach(mount string) error {
	for {
		n, err := connection(mount)
		if err != nil || n == 0 {
			return err
		}
		if err := unix.Unmount(mount, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
			return fmt.Errorf("unmount %s: %w", mount, err)
		}
	}
}

// vacant is an error where there is a layer already.
func vacant(mount string) error {
	n, err := connection(mount)
	if err == nil && n != 0 {
		err = fmt.Errorf("there is one already, FUSE connection %d; close it first", n)
	}
	return err
}

// connection is the number of the topmost layer at mount, 0 without one. It
// reads the table of mounts: to look at the mount itself is to wait for it.
func connection(mount string) (uint32, error) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var found uint32
	for lines := bufio.NewScanner(f); lines.Scan(); {
		// 36 35 0:52 / /mount rw,nosuid - fuse.rmq-disk rmq-disk rw,…
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || unescape(fields[4]) != mount || !strings.Contains(lines.Text(), " fuse."+fsName+" ") {
			continue
		}
		_, minor, _ := strings.Cut(fields[2], ":")
		n, err := strconv.ParseUint(minor, 10, 32)
		if err != nil {
			return 0, fmt.Errorf("device %q of %s: %w", fields[2], mount, err)
		}
		found = uint32(n)
	}
	return found, nil
}

const fsName = "rmq-disk"

// unescape undoes what the table of mounts does to blanks.
func unescape(path string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(path)
}
