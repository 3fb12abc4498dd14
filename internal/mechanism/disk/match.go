package disk

// Matches says whether a path, relative to the data directory and with slashes,
// matches a pattern as a [Rule] has it.
func Matches(pattern, name string) bool { return matches(pattern, name) }
