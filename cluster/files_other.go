//go:build !unix

package cluster

// shareFiles has nothing to share: there is no such limit here.
func shareFiles() error { return nil }

func openFiles() string { return "" }
