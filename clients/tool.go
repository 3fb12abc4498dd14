package clients

import (
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

	"github.com/robustmq/rmq-mcp/internal/environ"
	"github.com/robustmq/rmq-mcp/internal/install"
)

// A tool is a program that a toolchain needs.
type tool struct {
	names   []string // that it may have: python3, python
	version []string // the arguments that make it print its version; none: --version
	env     []string // added to the environment for that
	least   string   // the version that it must have; "" for any
	install systemPackages
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
			out.err = fmt.Errorf("%s %s does not print its version: %s", argv0, strings.Join(arguments, " "), install.Last(text))
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

// systemPackages are what to install by each system's package manager.
type systemPackages struct{ debian, brew, winget string }

func (p systemPackages) String() string {
	switch runtime.GOOS {
	case "darwin":
		return "run: brew install " + p.brew
	case "windows":
		return "run: winget install " + p.winget
	}
	return "on Debian and Ubuntu run: sudo apt-get install " + p.debian
}

// run runs a tool in a folder, with env added to its environment.
func (b build) run(ctx context.Context, dir string, env []string, argv ...string) error {
	return install.Run(ctx, dir, slices.Concat([]string{"TMPDIR=" + b.temp, "TMP=" + b.temp, "TEMP=" + b.temp}, env), argv...)
}

// runQuietly is for asking a tool something that it answers by its exit.
func runQuietly(ctx context.Context, argv ...string) error {
	return once(ctx, fmt.Sprint("quietly", argv), func() error { return query(ctx, argv[0], argv[1:]...).Run() })
}

// query is a program that is asked something of this machine.
func query(ctx context.Context, argv0 string, arguments ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, argv0, arguments...)
	cmd.Env = environ.Building()
	return cmd
}
