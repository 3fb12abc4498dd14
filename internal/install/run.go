package install

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// Run runs a package manager or a compiler in a folder, with env added to the environment of
// builds. The error ends with what the tool printed last, and with the next step if one is known.
func Run(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(environ.Building(), env...), time.Second
	out, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w: %s%s", strings.Join(argv, " "), cmp.Or(ctx.Err(), err), Last(out), remedyIn(out))
}

func remedyIn(out []byte) string { return Remedy(string(out[max(0, len(out)-remedyBytes):])) }

// A tool's error has the last bytes of its output. The next step is looked for in more of it, as
// compilers repeat themselves; an early warning names no cause.
const (
	lastBytes   = 1000
	remedyBytes = 64 << 10
)

// Last is the end of what a tool printed, without secrets.
func Last(out []byte) string {
	return strings.TrimSpace(secret.New().End(bytes.TrimSpace(out), lastBytes, false))
}

// DiskFull is the next step on a full disk.
const DiskFull = "the disk is full: `rmq-mcp sdks prune` removes client libraries that are not used, or give --dir on another disk"

// remedies returns the messages of package managers and compilers for each cause
// with a next step. A cause that explains others comes before them.
func remedies() []struct {
	said []string
	next string
} {
	return []struct {
		said []string
		next string
	}{
		{[]string{"No space left on device", "no space left on device", "ENOSPC", "os error 28", "Disk quota exceeded"}, DiskFull},
		{
			[]string{"DO NOT MATCH THE HASHES", "EINTEGRITY", "checksum mismatch", "SECURITY ERROR", "for checksum", "checksum for `"},
			"the download differs from the lock: nothing of it was kept or run; before anything else find out whether a mirror or a proxy changed it",
		},
		{
			[]string{"requires a different Python", "Requires-Python", "EBADENGINE", "requires rustc", "requires go >=", "UnsupportedClassVersionError", "invalid target release"},
			"it needs another version of its language: install that, or take another version",
		},
		{
			[]string{"No matching distribution", "E404", "ETARGET", "Could not find artifact", "no matching package named", "unknown revision", "404 Not Found"},
			"the package index of this machine does not have it: check which one is set up, and its mirror",
		},
		{
			[]string{"name resolution", "resolve host", "ENOTFOUND", "EAI_AGAIN", "no such host", "ECONNREFUSED", "onnection refused", "timed out", "Could not transfer artifact", "ETIMEDOUT", "unreachable"},
			"check that this machine reaches its package index",
		},
	}
}

// Remedy returns the next step after a tool's output, or "" if none is known.
func Remedy(said string) string {
	for _, r := range remedies() {
		if slices.ContainsFunc(r.said, func(s string) bool { return strings.Contains(said, s) }) {
			return "; " + r.next
		}
	}
	return ""
}
