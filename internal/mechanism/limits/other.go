//go:build !linux

package limits

import "runtime"

func elsewhere() error {
	return unsupported("limits of a single process exist on Linux only, not on %s", runtime.GOOS)
}

// Find is Linux only.
func Find(int, Controller, string) (Place, error) { return Place{}, elsewhere() }

// Put is Linux only.
func Put(string, Limits, int) error { return elsewhere() }

// Take has nothing to remove where no group can be made.
func Take(dir, _ string) error { return checkOurs(dir) }

// Members is Linux only.
func Members(string) ([]int, error) { return nil, elsewhere() }

// Holds is Linux only.
func Holds(string, int) (bool, error) { return false, elsewhere() }

// Count is Linux only.
func Count(string) (Counters, error) { return Counters{}, elsewhere() }

// Shown is Linux only.
func Shown(string) (Limits, error) { return Limits{}, elsewhere() }

// OpenFiles is Linux only.
func OpenFiles(int) (Files, error) { return Files{}, elsewhere() }

// SetSoftFiles is Linux only.
func SetSoftFiles(int, uint64) error { return elsewhere() }

// CountTasks is Linux only.
func CountTasks(int) (int, error) { return 0, elsewhere() }
