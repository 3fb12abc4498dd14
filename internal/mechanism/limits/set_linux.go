package limits

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// period is over what a processor quota is counted, in µs: the kernel's own
// default.
const period = 100_000

// A setting is one value of one file of a group.
type setting struct {
	file, value string
	may         bool // be missing, as nothing is asked of it
}

// set has a group show exactly these limits. The files of a controller that
// the group does not have are only missed where they are needed.
func set(dir string, l Limits) error {
	all := version1(l)
	if unified(dir) {
		all = version2(l)
	}
	for _, s := range all {
		err := write(filepath.Join(dir, s.file), s.value)
		if err != nil && !(s.may && errors.Is(err, fs.ErrNotExist)) {
			return fmt.Errorf("set %s of the control group to %s: %w", s.file, s.value, err)
		}
	}
	return nil
}

// lift takes the memory's limit away, as far as it can.
func lift(dir string) { _ = set(dir, Limits{}) }

// write never makes a file: one that is not there is a controller that the
// group does not have.
func write(path, value string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}

func unified(dir string) bool { return exists(dir, "cgroup.controllers") }

func exists(dir, file string) bool {
	_, err := os.Stat(filepath.Join(dir, file))
	return err == nil
}

// swapSlack is what a group of version 1 may swap out. Not nothing: the kernel
// charges memory and swap together before memory alone, and 6.18 does not count
// who is refused by the first of the two (failcnt stays 0), so that one must be
// the wider.
const swapSlack = 1 << 20

func version1(l Limits) []setting {
	quota, bytes, both, stall, tasks := "-1", "-1", "-1", "0", "max"
	if l.CPUPercent != nil {
		quota = strconv.Itoa(microseconds(*l.CPUPercent))
	}
	if l.Memory != nil {
		bytes = strconv.FormatInt(l.Memory.Bytes, 10)
		both = strconv.FormatInt(l.Memory.Bytes+swapSlack, 10)
		if l.Memory.Stall {
			stall = "1"
		}
	}
	if l.Tasks != nil {
		tasks = strconv.Itoa(*l.Tasks)
	}
	return []setting{
		{"cpu.cfs_quota_us", quota, l.CPUPercent == nil},
		{"memory.memsw.limit_in_bytes", "-1", true}, // never below the next one
		{"memory.limit_in_bytes", bytes, l.Memory == nil},
		{"memory.memsw.limit_in_bytes", both, true},
		{"memory.oom_control", stall, l.Memory == nil},
		{"pids.max", tasks, l.Tasks == nil},
	}
}

func version2(l Limits) []setting {
	quota, high, limit, swap, tasks := "max", "max", "max", "max", "max"
	if l.CPUPercent != nil {
		quota = strconv.Itoa(microseconds(*l.CPUPercent))
	}
	if l.Memory != nil {
		swap = "0"
		if l.Memory.Stall {
			high = strconv.FormatInt(l.Memory.Bytes, 10)
		} else {
			limit = strconv.FormatInt(l.Memory.Bytes, 10)
		}
	}
	if l.Tasks != nil {
		tasks = strconv.Itoa(*l.Tasks)
	}
	return []setting{
		{"cpu.max", fmt.Sprintf("%s %d", quota, period), l.CPUPercent == nil},
		{"memory.high", high, l.Memory == nil},
		{"memory.max", limit, l.Memory == nil},
		{"memory.swap.max", swap, true},
		{"pids.max", tasks, l.Tasks == nil},
	}
}

func microseconds(percent float64) int { return int(percent * period / 100) }

// Shown reads back what the group limits.
func Shown(dir string) (Limits, error) {
	var l Limits
	read := read{dir: dir}
	if unified(dir) {
		quota, _, _ := strings.Cut(read.text("cpu.max"), " ")
		l.CPUPercent = percent(read.number("cpu.max", quota))
		if high := read.number("memory.high", read.text("memory.high")); high != nil {
			l.Memory = &MemoryLimit{Bytes: *high, Stall: true}
		} else if limit := read.number("memory.max", read.text("memory.max")); limit != nil {
			l.Memory = &MemoryLimit{Bytes: *limit}
		}
	} else {
		l.CPUPercent = percent(read.number("cpu.cfs_quota_us", read.text("cpu.cfs_quota_us")))
		if limit := read.number("memory.limit_in_bytes", read.text("memory.limit_in_bytes")); limit != nil && *limit < 1<<60 {
			l.Memory = &MemoryLimit{Bytes: *limit, Stall: strings.Contains(read.text("memory.oom_control"), "oom_kill_disable 1")}
		}
	}
	if tasks := read.number("pids.max", read.text("pids.max")); tasks != nil {
		n := int(*tasks)
		l.Tasks = &n
	}
	return l, read.err
}

func percent(us *int64) *float64 {
	if us == nil {
		return nil
	}
	p := float64(*us) * 100 / period
	return &p
}

// A read reads a group's files and keeps the first error.
type read struct {
	dir string
	err error
}

func (r *read) text(file string) string {
	b, err := os.ReadFile(filepath.Join(r.dir, file))
	if err != nil && !errors.Is(err, fs.ErrNotExist) && r.err == nil {
		r.err = fmt.Errorf("read control group: %w", err)
	}
	return strings.TrimSpace(string(b))
}

// number is nil where there is no limit.
func (r *read) number(file, text string) *int64 {
	if text == "" || text == "max" || text == "-1" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && r.err == nil {
		r.err = fmt.Errorf("read %s: %w", filepath.Join(r.dir, file), err)
	}
	return &n
}
