// Package clock stands between single processes and their clock, by the
// thread-safe build of libfaketime: what a process believes the time of day to
// be is a control file that the library reads at every look at the clock. The
// monotonic clock is left alone.
package clock

import (
	"debug/buildinfo"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Set has the processes of a control file believe that it is that much later,
// or earlier, than it is. The file changes all at once: a process that looks
// at its clock meanwhile reads the old one or the new one. The library could
// change the speed too, but then it changes that of every sleep and time-out
// as well, and does not stop doing so: whoever wants a speed sets the clock often.
func Set(control string, ahead time.Duration) error {
	next := control + ".next"
	if err := os.WriteFile(next, fmt.Appendf(nil, "%+.6f\n", ahead.Seconds()), 0o644); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	if err := os.Rename(next, control); err != nil {
		return fmt.Errorf("set the clock: %w", err)
	}
	return nil
}

// Ahead reads back what was set.
func Ahead(control string) (time.Duration, error) {
	b, err := os.ReadFile(control)
	if err != nil {
		return 0, fmt.Errorf("read what the clock is set to: %w", err)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64)
	if err != nil {
		return 0, fmt.Errorf("read what the clock is set to: %w", err)
	}
	return time.Duration(seconds * float64(time.Second)).Round(time.Microsecond), nil
}

// Library finds the library. The error says how to install it.
func Library() (string, error) {
	for _, pattern := range []string{
		"/usr/lib/*/faketime", "/usr/lib/faketime", "/usr/lib64/faketime", "/usr/local/lib/faketime",
	} {
		found, _ := filepath.Glob(filepath.Join(pattern, "libfaketimeMT.so.1"))
		if len(found) > 0 {
			return found[0], nil
		}
	}
	return "", unsupported("libfaketime is not installed: apt-get install libfaketime")
}

// Fits answers whether a program looks at its clock by way of the C library,
// which is where ours can stand.
func Fits(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return unsupported("%s is no Linux program: %v", program, err)
	}
	defer f.Close()
	dynamic := slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP })
	if !dynamic {
		return unsupported("%s is linked statically and looks at the clock itself; time faults need a dynamically linked broker", program)
	}
	if _, err := buildinfo.ReadFile(program); err == nil {
		return unsupported("%s is a Go program and looks at the clock itself; time faults need a broker that uses the C library", program)
	}
	return nil
}

// Environment is what a process is started with to read its clock from the
// control file. The times of files stay what the file system says.
func Environment(library, control string) []string {
	return []string{
		"LD_PRELOAD=" + library,
		"FAKETIME_TIMESTAMP_FILE=" + control,
		"FAKETIME_NO_CACHE=1",
		"FAKETIME_DONT_FAKE_MONOTONIC=1",
		"NO_FAKE_STAT=1",
	}
}

// Forget removes the two names in /dev/shm that the library makes for a
// process and leaves there when that is killed. The process needs them no more
// once it runs.
func Forget(pid int) {
	os.Remove(fmt.Sprintf("/dev/shm/faketime_shm_%d", pid))
	os.Remove(fmt.Sprintf("/dev/shm/sem.faketime_sem_%d", pid))
}

// Loaded reports whether a process has the library.
func Loaded(pid int, library string) (bool, error) {
	maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		return false, fmt.Errorf("read what process %d has loaded: %w", pid, err)
	}
	if real, err := filepath.EvalSymlinks(library); err == nil {
		library = real
	}
	return strings.Contains(string(maps), library), nil
}

func unsupported(format string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), errors.ErrUnsupported)
}
