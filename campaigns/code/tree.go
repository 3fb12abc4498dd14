// Package code maps the panics and the log lines of a run, and texts that somebody names,
// to places in a source tree of the broker. It reads the tree and changes nothing in it.
package code

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Bounds of a tree. Larger files are left out, and a note says so.
const (
	mostFile  = 1 << 20  // bytes of one file: more is generated
	mostTree  = 64 << 20 // bytes of all: an index of it has six times as many
	mostNotes = 8
)

// extensions of files that a program is made of.
var extensions = []string{
	".rs", ".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".scala", ".py", ".js", ".ts", ".erl", ".hrl", ".ex", ".cs", ".zig", ".proto",
}

// skipped are folders with nothing that runs in a broker.
var skipped = []string{".git", "target", "node_modules", "vendor", "testdata"}

// A Tree is the source of one version, in memory.
type Tree struct {
	Name    string   // of the directory, with the git reference
	Notes   []string // what of it could not be used
	Checked bool     // it is of the version that was asked for, by its tag
	module  string   // of Go: the path by which logs name its files
	files   []file
	bytes   int
}

type file struct {
	path string // relative to the tree
	text []byte
}

// ReadTree reads a directory, or a version out of a git repository: its work tree or its
// git directory. The version is one that the broker calls itself by, such as
// "robustmq 0.4.11", or any git reference; "" reads the directory as it is.
func ReadTree(ctx context.Context, dir, version string) (*Tree, error) {
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("read the source: %s is no directory", dir)
	}
	if version == "" {
		t, err := readDir(dir)
		return t.noting(err, "the version of the run's broker is not known; %s was read as it is", dir)
	}
	if _, err := git(ctx, dir, nil, "rev-parse", "--git-dir"); err != nil {
		if !strings.Contains(err.Error(), "not a git repository") {
			return nil, fmt.Errorf("read the source: %w", err)
		}
		t, err := readDir(dir)
		return t.noting(err, "%s is no git repository; whether it is the source of %s was not checked", dir, version)
	}
	ref, err := reference(ctx, dir, version)
	if err != nil {
		return nil, err
	}
	t, err := readGit(ctx, dir, ref)
	if err == nil {
		t.Checked = strings.HasPrefix(ref, "refs/tags/")
	}
	return t, err
}

// noting adds a note to a tree that could be read.
func (t *Tree) noting(err error, format string, args ...any) (*Tree, error) {
	if err == nil {
		t.note(format, args...)
	}
	return t, err
}

func (t *Tree) note(format string, args ...any) {
	if len(t.Notes) < mostNotes {
		t.Notes = append(t.Notes, fmt.Sprintf(format, args...))
	}
}

// reference is the git reference of a version: its tag, else what git knows by that name.
func reference(ctx context.Context, dir, version string) (string, error) {
	words := strings.Fields(version)
	if len(words) == 0 {
		return "", fmt.Errorf("read the source: no version")
	}
	bare := strings.TrimPrefix(words[len(words)-1], "v")
	for _, ref := range []string{"refs/tags/v" + bare, "refs/tags/" + bare, version} {
		if _, err := git(ctx, dir, nil, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}"); err == nil {
			return ref, nil
		}
	}
	tags, _ := git(ctx, dir, nil, "tag", "--sort=-creatordate")
	names := strings.Fields(string(tags))
	return "", fmt.Errorf("read the source: %s has no tag or reference of %q; its newest tags are %s; name one of them", dir, version, strings.Join(names[:min(len(names), 5)], ", "))
}

// git asks about a repository. It fetches nothing and writes nothing there.
func git(ctx context.Context, dir string, input io.Reader, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GIT_") }), "GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	var failed bytes.Buffer
	cmd.Stdin, cmd.Stderr = input, &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(failed.String()))
	}
	return out, nil
}

// add keeps a file of text. It returns an error where all are too many.
func (t *Tree) add(name string, text []byte) error {
	if len(text) > mostFile {
		t.note("%s is left out: %d bytes", name, len(text))
		return nil
	}
	if bytes.Contains(text, []byte{0}) {
		return nil
	}
	if t.bytes += len(text); t.bytes > mostTree {
		return fmt.Errorf("more than %d MiB of source; name a folder of it", mostTree>>20)
	}
	t.files = append(t.files, file{name, text})
	return nil
}

// modFile names the module of a tree of Go.
const modFile = "go.mod"

// wanted reports whether a file may be part of the program.
func wanted(name string) bool {
	for _, part := range strings.Split(path.Dir(name), "/") {
		if slices.Contains(skipped, part) {
			return false
		}
	}
	return slices.Contains(extensions, path.Ext(name))
}

func readDir(dir string) (*Tree, error) {
	root, err := os.OpenRoot(dir) // no link leads out of it
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	defer root.Close()
	t := &Tree{Name: filepath.Base(dir)}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && slices.Contains(skipped, d.Name()):
			return fs.SkipDir
		case !d.Type().IsRegular() || !wanted(name) && name != modFile:
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > mostFile {
			t.note("%s is left out: %d bytes", name, info.Size())
			return nil
		}
		text, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return t.take(name, text)
	})
	if err != nil {
		return nil, fmt.Errorf("read the source in %s: %w", dir, err)
	}
	return t, t.check(dir)
}

// take keeps a file, or the module that it names.
func (t *Tree) take(name string, text []byte) error {
	if name != modFile {
		return t.add(name, text)
	}
	for line := range strings.Lines(string(text)) {
		if module, found := strings.CutPrefix(strings.TrimSpace(line), "module "); found {
			t.module = strings.TrimSpace(module)
		}
	}
	return nil
}

func readGit(ctx context.Context, dir, ref string) (*Tree, error) {
	listed, err := git(ctx, dir, nil, "ls-tree", "-r", "-z", "--name-only", ref)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	prefix, err := git(ctx, dir, nil, "rev-parse", "--show-prefix") // of a folder in a repository
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	t := &Tree{Name: filepath.Base(dir) + " at " + strings.TrimPrefix(ref, "refs/tags/")}
	var names []string
	for _, name := range strings.Split(string(listed), "\x00") {
		if (wanted(name) || name == modFile) && !strings.Contains(name, "\n") {
			names = append(names, name)
		}
	}
	const atOnce = 200
	for part := range slices.Chunk(names, atOnce) {
		var asked bytes.Buffer
		for _, name := range part {
			fmt.Fprintf(&asked, "%s:%s%s\n", ref, strings.TrimSpace(string(prefix)), name)
		}
		out, err := git(ctx, dir, &asked, "cat-file", "--batch")
		if err == nil {
			err = t.unpack(part, out)
		}
		if err != nil {
			return nil, fmt.Errorf("read the source of %s: %w", ref, err)
		}
	}
	return t, t.check(dir)
}

// unpack reads what git cat-file --batch wrote of files: a line, "HASH blob SIZE", and so
// many bytes. A file that a repository does not have is missing.
func (t *Tree) unpack(names []string, out []byte) error {
	r := bufio.NewReader(bytes.NewReader(out))
	for _, name := range names {
		line, err := r.ReadString('\n')
		if err != nil {
			return err
		}
		words := strings.Fields(line)
		if strings.HasSuffix(line, " missing\n") {
			t.note("%s is left out: the repository does not have it", name)
			continue
		}
		size, err := strconv.Atoi(words[len(words)-1])
		if err != nil {
			return fmt.Errorf("git says %q of %s", strings.TrimSpace(line), name)
		}
		text := make([]byte, size+1) // and a line end
		if _, err := io.ReadFull(r, text); err != nil {
			return err
		}
		if words[1] == "blob" {
			if err := t.take(name, text[:size]); err != nil {
				return err
			}
		}
	}
	return nil
}

func (t *Tree) check(dir string) error {
	if len(t.files) == 0 {
		return fmt.Errorf("read the source: %s has no file with one of the extensions %s", dir, strings.Join(extensions, " "))
	}
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return nil
}

// named are the files that a path may mean. A log names a file by its path on the machine
// that built the broker, or by the end of it. The longest of several is meant.
func (t *Tree) named(name string) (list []file) {
	name = path.Clean(filepath.ToSlash(name))
	longest := 0
	for _, f := range t.files {
		if f.path == name {
			return []file{f}
		}
		if shared := strings.HasSuffix(name, "/"+f.path); !shared && !strings.HasSuffix(f.path, "/"+name) {
			continue
		}
		switch same := min(len(f.path), len(name)); {
		case same > longest:
			longest, list = same, []file{f}
		case same == longest:
			list = append(list, f)
		}
	}
	return list
}

// line is one line of a file, counted from 1; false where it has not so many.
func (f file) line(n int) (string, bool) {
	i := 0
	for line := range bytes.Lines(f.text) {
		if i++; i == n {
			return strings.TrimRight(string(line), "\r\n"), true
		}
	}
	return "", false
}
