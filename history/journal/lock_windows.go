package journal

// lockPath is the file whose lock makes a process the only writer. It is one
// beside the journal, as nobody could read a locked file.
func lockPath(path string) string { return path + ".lock" }
