//go:build !windows

package journal

// lockPath is the file whose lock makes a process the only writer: the journal
// itself.
func lockPath(path string) string { return path }
