package disk

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Release lets go of every layer that is mounted at dir or below it, whatever became
// of its process. It frees the processes that wait for the layer, and unmounts it. A
// layer in the mount namespace of another process can only be freed, and that is
// enough. Such a process may be a keeper that cannot die because it waits for the
// layer.
//
// Release returns how many layers there were; calling it again is harmless. It is for
// cleaning up after the client's process is gone. dir is compared with the table of
// mounts and never looked at.
func Release(dir string) (int, error) {
	if real, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
		dir = filepath.Join(real, filepath.Base(dir))
	}
	found := map[uint32]bool{}
	own, err := layersBelow("/proc/self/mountinfo", dir)
	errs := []error{err}
	for _, m := range own {
		found[m.connection] = true
		errs = append(errs, free(m.connection))
		if err := unix.Unmount(m.path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil && !errors.Is(err, unix.EINVAL) {
			errs = append(errs, fmt.Errorf("unmount %s: %w", m.path, err))
		}
	}
	for _, table := range otherTables() {
		others, _ := layersBelow(table, dir) // a process that is gone has no table
		for _, m := range others {
			if !found[m.connection] {
				found[m.connection] = true
				errs = append(errs, free(m.connection))
			}
		}
	}
	return len(found), errors.Join(errs...)
}

// free aborts a connection where that is allowed; where it is not, the death
// of its process does the same.
func free(connection uint32) error {
	err := Abort(connection)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// otherTables are the tables of mounts of all threads, one of each namespace:
// the first thread of a process that is ending may have none any more.
func otherTables() []string {
	seen := map[string]bool{}
	if own, err := os.Readlink("/proc/self/ns/mnt"); err == nil {
		seen[own] = true
	}
	threads, _ := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	var tables []string
	for _, t := range threads {
		ns, err := os.Readlink(filepath.Join(t, "ns/mnt"))
		if err == nil && !seen[ns] {
			seen[ns] = true
			tables = append(tables, filepath.Join(t, "mountinfo"))
		}
	}
	return tables
}

type mounted struct {
	path       string
	connection uint32
}

// layersBelow are the layers of a table of mounts, the last one first: it may
// lie over another.
func layersBelow(table, dir string) ([]mounted, error) {
	f, err := os.Open(table)
	if err != nil {
		return nil, fmt.Errorf("read the table of mounts: %w", err)
	}
	defer f.Close()
	var out []mounted
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 || !strings.Contains(lines.Text(), " fuse."+fsName+" ") {
			continue
		}
		path := unescape(fields[4])
		if !within(path, dir) {
			continue
		}
		_, minor, _ := strings.Cut(fields[2], ":")
		n, err := strconv.ParseUint(minor, 10, 32)
		if err != nil {
			return out, fmt.Errorf("device %q of %s: %w", fields[2], path, err)
		}
		out = append([]mounted{{path, uint32(n)}}, out...)
	}
	return out, nil
}
