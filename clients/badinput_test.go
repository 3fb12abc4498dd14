package clients

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestPython(t *testing.T) {
	lock := newIndex(t).wheel(t, "")
	program, err := tiny(lock).provide(t.Context(), cache{t.TempDir()}, python{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(program.Argv[0], program.Argv[1:]...).CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "tiny" {
		t.Errorf("%s: %v, %s", program, err, out)
	}
}

// TestWhatCannotBeMade tries to make drivers that cannot be made. The error says
// what was wrong and what to do, in a bounded time, the same at each try. Nothing
// is left that looks like a driver.
func TestWhatCannotBeMade(t *testing.T) {
	hosttest.Long(t, "it runs pip a dozen times")
	none := strings.Repeat("0", 64)
	c := cache{t.TempDir()}
	for name, test := range map[string]struct {
		lock func(*testing.T, index) string
		want []string
	}{
		"wrong hash": {
			func(t *testing.T, i index) string {
				i.wheel(t, "")
				return "tiny==1.0 --hash=sha256:" + none
			},
			[]string{"Expected sha256 " + none, "the download differs from the lock"},
		},
		"no hash": {
			func(t *testing.T, i index) string {
				i.wheel(t, "")
				return "tiny==1.0"
			},
			[]string{"require"},
		},
		"package not to be had": {
			func(*testing.T, index) string { return "tiny==1.0 --hash=sha256:" + none },
			[]string{"tiny==1.0", "the package index of this machine does not have it"},
		},
		"build failing": {
			func(t *testing.T, i index) string { return i.brokenSource(t) },
			[]string{"this needs a header that is not there: openssl.h"},
		},
		"newer runtime": {
			func(t *testing.T, i index) string { return i.wheel(t, "Requires-Python: >=4.1\n") },
			[]string{">=4.1", "it needs another version of its language"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			lock := test.lock(t, newIndex(t))
			b := tiny(lock)
			b.sdk.Package = "tiny-" + strings.ReplaceAll(name, " ", "-")
			for range 2 {
				_, err := b.provide(t.Context(), c, python{})
				if err == nil {
					t.Fatal("no error")
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%v\nwant %q", err, want)
					}
				}
			}
			onlyLocks(t, c)
		})
	}
}

// onlyLocks fails where a cache has anything that was made.
func onlyLocks(t *testing.T, c cache) {
	t.Helper()
	entries, err := os.ReadDir(c.dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != downloads && !strings.HasSuffix(e.Name(), lockSuffix) {
			t.Errorf("%s is left", e.Name())
		}
	}
}

func TestARuntimeThatIsTooOld(t *testing.T) {
	b := tiny(newIndex(t).wheel(t, ""))
	b.sdk.Needs = "3.99"
	_, err := b.provide(t.Context(), cache{t.TempDir()}, python{})
	var lacks *Unsupported
	if !errors.As(err, &lacks) || !strings.Contains(lacks.Missing, "3.99 or newer is needed") || !strings.Contains(lacks.Missing, "install") {
		t.Errorf("%v: want that the runtime is too old, and the next step", err)
	}
}

// TestNothingIsWrittenOutsideTheCache checks everything that pip writes: the home
// and the folder for temporary files, where it could also write, stay empty.
func TestNothingIsWrittenOutsideTheCache(t *testing.T) {
	hosttest.Long(t, "it runs pip with empty caches")
	lock := newIndex(t).wheel(t, "")
	home, temp := t.TempDir(), t.TempDir()
	// pip asks rustc for its version, and rustup's makes its folder for that.
	t.Setenv("RUSTUP_HOME", filepath.Join(os.Getenv("HOME"), ".rustup"))
	c := cache{t.TempDir()}
	for name, value := range map[string]string{
		"HOME": home, "TMPDIR": temp, "XDG_CACHE_HOME": "", "XDG_CONFIG_HOME": "", "XDG_DATA_HOME": "", "XDG_STATE_HOME": "",
	} {
		t.Setenv(name, value)
	}
	if _, err := tiny(lock).provide(t.Context(), c, python{}); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{home, temp} {
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) > 0 {
			t.Errorf("%s has %v, %v", dir, entries, err)
		}
	}
}

// asBuilder makes a copy of this test binary build a driver in the folder of
// that name.
const asBuilder = "RMQ_TEST_BUILDER"

// A slowBuild writes half a driver, says so in a file, and goes on when told.
type slowBuild struct{ dir string }

func (slowBuild) identity(context.Context) string     { return "" }
func (slowBuild) missing(context.Context, SDK) string { return "" }
func (slowBuild) program(dir string, _ SDK) Program   { return Program{Argv: []string{dir}} }
func (s slowBuild) make(_ context.Context, b build) error {
	if err := os.WriteFile(filepath.Join(b.dir, "half"), nil, 0o644); err != nil {
		return err
	}
	began, err := os.CreateTemp(s.dir, "began-")
	if err != nil {
		return err
	}
	began.Close()
	for !exists(filepath.Join(s.dir, "go-on")) {
		time.Sleep(5 * time.Millisecond)
	}
	return os.WriteFile(filepath.Join(b.dir, "driver"), nil, 0o644)
}

// TestBuilder is no test but the process that TestAKilledInstall and
// TestTwoInstallsAtOnce start.
func TestBuilder(t *testing.T) {
	dir := os.Getenv(asBuilder)
	if dir == "" {
		return
	}
	if _, err := tiny("").provide(t.Context(), cache{filepath.Join(dir, "cache")}, slowBuild{dir}); err != nil {
		t.Fatal(err)
	}
}

func startBuilder(t *testing.T, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestBuilder$", "-test.timeout=60s")
	cmd.Env = append(os.Environ(), asBuilder+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	return cmd
}

// begun waits until so many builds have begun in all.
func begun(t *testing.T, dir string, n int) {
	t.Helper()
	for deadline := time.Now().Add(hosttest.Bound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if found, _ := filepath.Glob(filepath.Join(dir, "began-*")); len(found) >= n {
			return
		}
	}
	t.Fatalf("%d builds have not begun within %v", n, hosttest.Bound)
}

func goOn(t *testing.T, dir string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "go-on"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestAKilledInstall(t *testing.T) {
	dir := t.TempDir()
	builder := startBuilder(t, dir)
	begun(t, dir, 1)
	builder.Process.Kill()
	builder.Wait()
	c := cache{filepath.Join(dir, "cache")}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*"+building+"*", "made", "half")); len(left) != 1 {
		t.Fatalf("the killed install left %v, want half a driver", left)
	}

	goOn(t, dir)
	program, err := tiny("").provide(t.Context(), c, slowBuild{dir})
	if err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(program.Argv[0], "driver")) {
		t.Error("the driver is not complete")
	}
	if left, _ := filepath.Glob(filepath.Join(c.dir, "*"+building+"*")); len(left) > 0 {
		t.Errorf("still there: %v", left)
	}
}

func TestTwoInstallsAtOnce(t *testing.T) {
	dir := t.TempDir()
	builders := []*exec.Cmd{startBuilder(t, dir), startBuilder(t, dir), startBuilder(t, dir)}
	begun(t, dir, 1)
	goOn(t, dir)
	for _, b := range builders {
		if err := b.Wait(); err != nil {
			t.Error(err)
		}
	}
	if found, _ := filepath.Glob(filepath.Join(dir, "began-*")); len(found) != 1 {
		t.Errorf("built %d times", len(found))
	}
}

func TestPrune(t *testing.T) {
	state := t.TempDir()
	c := cacheIn(state)
	goOn(t, state)
	inUse, err := tiny("a").provide(t.Context(), c, slowBuild{state})
	if err != nil {
		t.Fatal(err)
	}
	unused, err := tiny("b").provide(t.Context(), c, slowBuild{state})
	if err != nil {
		t.Fatal(err)
	}
	half := unused.Argv[0] + building + "1"
	foreign := filepath.Join(c.dir, "somebody-else's")
	for _, dir := range []string{half, foreign} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(half, "big"), make([]byte, 1000), 0o444); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(half, 0o555); err != nil {
		t.Fatal(err)
	}
	release, err := inUse.take(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	pruned, err := Prune(t.Context(), state, false)
	if err != nil {
		t.Fatal(err)
	}
	removed := []string{filepath.Base(unused.Argv[0]), filepath.Base(half)}
	if !slices.Equal(pruned.Removed, removed) || !slices.Equal(pruned.InUse, []string{filepath.Base(inUse.Argv[0])}) || pruned.Bytes != 1000 {
		t.Errorf("%+v, want %v removed", pruned, removed)
	}
	if !exists(inUse.Argv[0]) || !exists(foreign) || !exists(filepath.Join(c.dir, downloads)) || exists(unused.hold) {
		t.Error("prune removed too much, or left a lock")
	}

	release()
	if pruned, err = Prune(t.Context(), state, true); err != nil || len(pruned.Removed) != 2 {
		t.Errorf("%+v, %v: want the other driver and the downloads removed", pruned, err)
	}
	if _, err := inUse.take(t.Context()); err == nil || !strings.Contains(err.Error(), "sdks install") {
		t.Errorf("a program that was removed can be started: %v", err)
	}
	entries, err := os.ReadDir(c.dir)
	if err != nil || len(entries) > 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestPruneWhileInstalling installs and prunes the same driver at once. A driver
// that is held is complete, and each install succeeds although the other prunes.
func TestPruneWhileInstalling(t *testing.T) {
	state := t.TempDir()
	goOn(t, state)
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() {
		for ctx.Err() == nil {
			if _, err := Prune(t.Context(), state, true); err != nil {
				t.Error(err)
			}
		}
	})
	for range 50 {
		program, err := tiny("").provide(t.Context(), cacheIn(state), slowBuild{state})
		if err != nil {
			t.Error(err)
			continue
		}
		release, err := program.take(t.Context())
		if err != nil {
			continue // it was removed between the two, and says so
		}
		if !exists(filepath.Join(program.Argv[0], "driver")) {
			t.Error("a driver that is held is not complete")
		}
		release()
	}
	cancel()
	wg.Wait()
}
