package clients

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// A tool is a program that a toolchain needs.
type tool struct {
	names   []string // that it may have: python3, python
	version []string // the arguments that make it print its version; none: --version
	env     []string // added to the environment for that
	least   string   // the version that it must have; "" for any
	install install
}

// find answers where the tool is and its version. The error says what to do.
func (t tool) find(ctx context.Context) (path, version string, err error) {
	arguments := t.version
	if arguments == nil {
		arguments = []string{"--version"}
	}
	var old error
	for _, name := range t.names {
		path, err := exec.LookPath(name)
		if err != nil {
			continue
		}
		version, err := printedVersion(ctx, t.env, path, arguments)
		if err == nil && newer(t.least, version) {
			err = fmt.Errorf("%s is %s, and %s or newer is needed", path, version, t.least)
		}
		if err == nil {
			return path, version, nil
		}
		old = err
	}
	if old != nil {
		return "", "", fmt.Errorf("%w; %s", old, t.install)
	}
	return "", "", fmt.Errorf("%s is not in PATH; %s", t.names[0], t.install)
}

var versionNumber = regexp.MustCompile(`\d+(\.\d+)+`)

// versions are the version numbers that programs printed before, by the file that was
// executed: a server is asked for its host many times, and some programs take half a
// second to print one.
var versions sync.Map

// printedVersion is the first version number that a program prints. A program is asked
// once, and again where its file has changed.
func printedVersion(ctx context.Context, env []string, argv0 string, arguments []string) (string, error) {
	file, err := os.Stat(argv0)
	if err != nil {
		return "", fmt.Errorf("look at %s: %w", argv0, err)
	}
	key := fmt.Sprint(env, argv0, arguments, file.Size(), file.ModTime().UnixNano())
	if version, known := versions.Load(key); known {
		return version.(string), nil
	}
	printed := once(ctx, fmt.Sprint("version", env, argv0, arguments), func() (out struct {
		version string
		err     error
	}) {
		cmd := query(ctx, argv0, arguments...)
		cmd.Env = append(cmd.Env, env...)
		text, err := cmd.CombinedOutput()
		if out.version = versionNumber.FindString(string(text)); err != nil || out.version == "" {
			out.err = fmt.Errorf("%s %s does not print its version: %s", argv0, strings.Join(arguments, " "), lastOf(text))
		}
		return out
	})
	if printed.err == nil {
		versions.Store(key, printed.version)
	}
	return printed.version, printed.err
}

type onceKey struct{}

// askingOnce is a context in which tools are asked each thing once: many SDKs need the
// same ones, and a runtime takes a tenth of a second or more to print its version.
func askingOnce(ctx context.Context) context.Context {
	return context.WithValue(ctx, onceKey{}, &sync.Map{})
}

// once returns what ask returns, the first time that key is asked in a context of
// [askingOnce], and the same afterwards. In any other context it always asks.
func once[T any](ctx context.Context, key string, ask func() T) T {
	asked, ok := ctx.Value(onceKey{}).(*sync.Map)
	if !ok {
		return ask()
	}
	first, _ := asked.LoadOrStore(key, sync.OnceValue(ask))
	return first.(func() T)()
}

// newer reports whether version a is newer than b: 3.10 is newer than 3.9.1.
// A part that is not a number counts as 0.
func newer(a, b string) bool { return slices.Compare(numbers(a), numbers(b)) > 0 }

func numbers(version string) (all []int) {
	for part := range strings.SplitSeq(version, ".") {
		n, _ := strconv.Atoi(part)
		all = append(all, n)
	}
	return all
}

// install is what to install by each system's package manager.
type install struct{ debian, brew, winget string }

func (i install) String() string {
	switch runtime.GOOS {
	case "darwin":
		return "run: brew install " + i.brew
	case "windows":
		return "run: winget install " + i.winget
	}
	return "on Debian and Ubuntu run: sudo apt-get install " + i.debian
}

// run runs a tool in a folder, with env added to its environment. Its error
// ends with the tool's last output, and with the next step if one is known.
func (b build) run(ctx context.Context, dir string, env []string, argv ...string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = dir
	cmd.Env = slices.Concat(environ.Building(), []string{"TMPDIR=" + b.temp, "TMP=" + b.temp, "TEMP=" + b.temp}, env)
	cmd.WaitDelay = time.Second
	out := &tail{keep: causeBytes}
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return fmt.Errorf("%s: %w: %s%s", strings.Join(argv, " "), err, lastOf(out.last), remedy(string(out.last)))
}

// runQuietly is for asking a tool something that it answers by its exit.
func runQuietly(ctx context.Context, argv ...string) error {
	return once(ctx, fmt.Sprint("quietly", argv), func() error { return query(ctx, argv[0], argv[1:]...).Run() })
}

// causeBytes is how much of what a tool printed last is searched for the cause.
const causeBytes = 64 << 10

// lastOf is the end of what a tool printed, without secrets.
func lastOf(out []byte) string {
	return strings.TrimSpace(secret.New().End(bytes.TrimSpace(out), tailBytes, false))
}

const diskFull = "the disk is full: `rmq-mcp sdks prune` removes what is not used, or give --dir on another disk"

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
		{[]string{"No space left on device", "no space left on device", "ENOSPC", "os error 28", "Disk quota exceeded"}, diskFull},
		{
			[]string{"DO NOT MATCH THE HASHES", "EINTEGRITY", "checksum mismatch", "SECURITY ERROR", "for checksum", "checksum for `"},
			"the download differs from the lock: nothing of it was kept or run; before anything else find out whether a mirror or a proxy changed it",
		},
		{
			[]string{"requires a different Python", "Requires-Python", "EBADENGINE", "requires rustc", "requires go >=", "UnsupportedClassVersionError", "invalid target release"},
			"it needs another version of its language: install that, or take another version of the SDK",
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

// remedy returns the next step after a tool's output, or "" if none is known.
func remedy(said string) string {
	for _, r := range remedies() {
		if slices.ContainsFunc(r.said, func(s string) bool { return strings.Contains(said, s) }) {
			return "; " + r.next
		}
	}
	return ""
}

// query is a program that is asked something of this machine.
func query(ctx context.Context, argv0 string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv0, arguments...)
	cmd.Env = environ.Building()
	return cmd
}
