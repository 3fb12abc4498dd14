package history

// syncDir does nothing: a directory cannot be opened for that here, and a
// rename is on disk when it returns.
func syncDir(string) error { return nil }
