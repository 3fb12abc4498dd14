// Package build says which build of rmq-mcp this is.
package build

import "runtime/debug"

// release is the version that a release is linked with: -ldflags "-X
// github.com/robustmq/rmq-mcp/internal/build.release=v1.2.3". The linker needs a
// variable; nothing else writes it.
var release string

// Unversioned is the version of a build about which the toolchain noted nothing. Two such builds
// may differ.
const Unversioned = "devel"

// Version is what the linker was told, or what the Go toolchain noted: the
// module's version, or the commit; devel where it noted neither.
func Version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := Unversioned, ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	return revision + dirty
}
