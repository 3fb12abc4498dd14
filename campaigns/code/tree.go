// Package code maps the panics and the log lines of a run, and texts that somebody names,
// to places in a source tree of the broker. It reads the tree and changes nothing in it.
package code

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Bounds of a tree. Larger files are left out, and a note says so.
const (
	mostFile = 1 << 20  // bytes of one file: more is generated
	mostTree = 64 << 20 // bytes of all: an index of it has six times as many
)

// extensions of files that a program is made of.
var extensions = []string{
	".rs", ".go", ".c", ".h", ".cc", ".cpp", ".hpp", ".java", ".kt", ".scala", ".py", ".js", ".ts", ".erl", ".hrl", ".ex", ".cs", ".zig", ".proto",
}

// skipped are folders with nothing that runs in a broker.
var skipped = []string{".git", "target", "node_modules", "vendor", "testdata"}

// A Tree is the source of one version, in memory.
type Tree struct {
	Name  string   // of the directory, with the git reference
	Notes []string // what of it could not be used
	files []file
	bytes int
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
		return readDir(dir)
	}
	if _, err := git(ctx, dir, "rev-parse", "--git-dir"); err != nil {
		t, err := readDir(dir)
		if err == nil {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is no git repository; nobody checked that it is the source of %s", dir, version))
		}
		return t, err
	}
	ref, err := reference(ctx, dir, version)
	if err != nil {
		return nil, err
	}
	return readGit(ctx, dir, ref)
}

// reference is the git reference of a version.
func reference(ctx context.Context, dir, version string) (string, error) {
	words := strings.Fields(version)
	if len(words) == 0 {
		return "", fmt.Errorf("read the source: no version")
	}
	bare := strings.TrimPrefix(words[len(words)-1], "v")
	for _, ref := range []string{"refs/tags/v" + bare, "refs/tags/" + bare, version} {
		if strings.HasPrefix(ref, "-") {
			continue
		}
		if _, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}"); err == nil {
			return ref, nil
		}
	}
	tags, _ := git(ctx, dir, "tag", "--sort=-creatordate")
	names := strings.Fields(string(tags))
	return "", fmt.Errorf("read the source: %s has no tag or reference of %q; its newest tags are %s; name one of them", dir, version, strings.Join(names[:min(len(names), 5)], ", "))
}

func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.fsmonitor=false"}, args...)...)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("git %s in %s: %w: %s", args[0], dir, err, strings.TrimSpace(failed.String()))
	}
	return out, nil
}

// add keeps a file of text. It returns an error where all are too many.
func (t *Tree) add(name string, text []byte) error {
	if bytes.Contains(text, []byte{0}) {
		return nil
	}
	if t.bytes += len(text); t.bytes > mostTree {
		return fmt.Errorf("more than %d MiB of source; name a folder of it", mostTree>>20)
	}
	t.files = append(t.files, file{name, text})
	return nil
}

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
		case !d.Type().IsRegular() || !wanted(name):
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Size() > mostFile {
			t.Notes = append(t.Notes, fmt.Sprintf("%s is left out: %d bytes", name, info.Size()))
			return nil
		}
		text, err := fs.ReadFile(root.FS(), name)
		if err != nil {
			return err
		}
		return t.add(name, text)
	})
	if err != nil {
		return nil, fmt.Errorf("read the source in %s: %w", dir, err)
	}
	return t, t.check(dir)
}

func readGit(ctx context.Context, dir, ref string) (*Tree, error) {
	listed, err := git(ctx, dir, "ls-tree", "-r", "-z", "--name-only", ref)
	if err != nil {
		return nil, fmt.Errorf("read the source: %w", err)
	}
	var names []string
	for _, name := range strings.Split(string(listed), "\x00") {
		if wanted(name) {
			names = append(names, name)
		}
	}
	t := &Tree{Name: filepath.Base(dir) + " at " + strings.TrimPrefix(ref, "refs/tags/")}
	const atOnce = 500 // arguments
	for part := range slices.Chunk(names, atOnce) {
		args := append([]string{"--literal-pathspecs", "archive", "--format=tar", ref, "--"}, part...)
		packed, err := git(ctx, dir, args...)
		if err != nil {
			return nil, fmt.Errorf("read the source: %w", err)
		}
		if err := t.unpack(packed); err != nil {
			return nil, fmt.Errorf("read the source of %s: %w", ref, err)
		}
	}
	return t, t.check(dir)
}

func (t *Tree) unpack(packed []byte) error {
	for r := tar.NewReader(bytes.NewReader(packed)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case h.Typeflag != tar.TypeReg:
		case h.Size > mostFile:
			t.Notes = append(t.Notes, fmt.Sprintf("%s is left out: %d bytes", h.Name, h.Size))
		default:
			text, err := io.ReadAll(r)
			if err == nil {
				err = t.add(h.Name, text)
			}
			if err != nil {
				return err
			}
		}
	}
}

func (t *Tree) check(dir string) error {
	if len(t.files) == 0 {
		return fmt.Errorf("read the source: %s has no file with one of the extensions %s", dir, strings.Join(extensions, " "))
	}
	slices.SortFunc(t.files, func(a, b file) int { return strings.Compare(a.path, b.path) })
	return nil
}

// named are the files that a path means. A log names a file as the machine knew it that
// built the broker, so the ends have to agree, as far as one of the two reaches.
func (t *Tree) named(name string) (list []file) {
	name = path.Clean(filepath.ToSlash(name))
	for _, f := range t.files {
		if f.path == name {
			return []file{f}
		}
		if strings.HasSuffix(f.path, "/"+name) || strings.HasSuffix(name, "/"+f.path) {
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
