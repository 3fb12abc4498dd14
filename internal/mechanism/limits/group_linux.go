package limits

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leaveBound is how long a group may still be busy with processes that ended.
const leaveBound = 3 * time.Second

// Put makes the group where it is not there, has it show exactly these limits,
// and moves the process into it with all its threads.
func Put(dir string, l Limits, pid int) error {
	if err := checkOurs(dir); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make control group: %w", err)
	}
	if err := set(dir, l); err != nil {
		return err
	}
	return move(pid, dir)
}

// Take moves every process of the group back and removes it. A group that is
// not there is fine, and without a back so is one whose processes are ending.
func Take(dir, back string) error {
	if err := checkOurs(dir); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		pids, err := Members(dir)
		if err != nil || pids == nil {
			return err
		}
		lift(dir) // those who wait for memory go on
		for _, pid := range pids {
			if back == "" {
				continue
			}
			if err := move(pid, back); err != nil {
				return fmt.Errorf("move process %d out of %s: %w", pid, dir, err)
			}
		}
		err = os.Remove(dir)
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if !errors.Is(err, unix.EBUSY) || time.Since(began) > leaveBound {
			return fmt.Errorf("remove control group: %w; processes in it: %v", err, pids)
		}
	}
}

// Members are the processes in a group; nil where there is no such group.
func Members(dir string) ([]int, error) {
	b, err := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read control group: %w", err)
	}
	pids := []int{}
	for _, word := range strings.Fields(string(b)) {
		if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	return pids, nil
}

// Holds reports whether a process is in a group.
func Holds(dir string, pid int) (bool, error) {
	pids, err := Members(dir)
	return slices.Contains(pids, pid), err
}

// move writes a process into a group. One that is gone is fine.
func move(pid int, dir string) error {
	err := write(filepath.Join(dir, "cgroup.procs"), strconv.Itoa(pid))
	if errors.Is(err, unix.ESRCH) {
		return nil
	}
	return err
}

// Count reads a group's counters.
func Count(dir string) (Counters, error) {
	var c Counters
	for _, in := range []struct {
		file  string
		field string
		into  *int64
	}{
		{"cpu.stat", "nr_throttled", &c.Throttled},
		{"memory.failcnt", "", &c.Reclaims}, // version 1
		{"memory.memsw.failcnt", "", &c.Reclaims},
		{"memory.oom_control", "under_oom", &c.Reclaims}, // some wait for memory, which the two above may not count
		{"memory.oom_control", "oom_kill", &c.Kills},
		{"memory.events", "high", &c.Reclaims}, // version 2
		{"memory.events", "max", &c.Reclaims},
		{"memory.events", "oom_kill", &c.Kills},
		{"pids.events", "max", &c.Refused},
	} {
		n, err := field(filepath.Join(dir, in.file), in.field)
		if err != nil {
			return c, fmt.Errorf("read control group: %w", err)
		}
		*in.into += n
	}
	return c, nil
}

// field reads a number from a file of lines "name number", or of one number.
func field(path, name string) (int64, error) {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ENODEV) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	for lines := bufio.NewScanner(bytes.NewReader(b)); lines.Scan(); {
		key, value, ok := strings.Cut(lines.Text(), " ")
		if !ok && name == "" {
			return strconv.ParseInt(key, 10, 64)
		}
		if ok && key == name {
			return strconv.ParseInt(value, 10, 64)
		}
	}
	return 0, nil
}
