package code

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// functions names the function around a line by Universal Ctags, where the host has it.
type functions struct {
	ctags string // path of the program; "" for none
	known map[string][]tag
}

// A tag is a definition, as ctags writes it.
type tag struct {
	Name  string `json:"name"`
	Line  int    `json:"line"`
	End   int    `json:"end"` // 0 where ctags does not tell
	Kind  string `json:"kind"`
	Scope string `json:"scope"`
}

// kinds of tags that have code in them.
var callable = []string{"function", "func", "method", "subroutine", "procedure", "constructor"}

func newFunctions() *functions {
	f := &functions{known: map[string][]tag{}}
	for _, name := range []string{"ctags-universal", "universal-ctags", "ctags"} {
		if path, err := exec.LookPath(name); err == nil && universal(path) {
			f.ctags = path
			break
		}
	}
	return f
}

// universal reports whether a program is Universal Ctags. Others write no JSON.
func universal(path string) bool {
	out, err := exec.Command(path, "--list-features").Output()
	return err == nil && bytes.Contains(out, []byte("json"))
}

// around is the innermost function that a line of a file is in; none where it is in none, or
// nobody can tell.
func (f *functions) around(ctx context.Context, of file, line int) tag {
	if f.ctags == "" {
		return tag{}
	}
	tags, read := f.known[of.path]
	if !read {
		tags = f.read(ctx, of)
		f.known[of.path] = tags
	}
	var in tag
	for _, t := range tags {
		if t.Line <= line && t.Line >= in.Line && t.reaches(of, line) {
			in = t
		}
	}
	return in
}

// reaches reports whether a definition goes on at a line below its first. Where ctags does
// not tell its end, it goes on while a brace of it is open.
func (t tag) reaches(of file, line int) bool {
	if t.End > 0 {
		return t.End >= line
	}
	depth, opened := 0, false
	for n := t.Line; n < line; n++ {
		text, _ := of.line(n)
		for _, c := range text {
			switch c {
			case '{':
				depth, opened = depth+1, true
			case '}':
				depth--
			}
		}
		if opened && depth <= 0 {
			return false
		}
	}
	return opened || line == t.Line
}

// test reports whether a function is one of the tests that some languages keep beside the
// code.
func (t tag) test() bool {
	return t.Scope == "test" || t.Scope == "tests" || strings.HasPrefix(t.Name, "test_") || strings.HasSuffix(t.Name, "_test")
}

func (t tag) qualified() string {
	if t.Scope == "" || t.Name == "" {
		return t.Name
	}
	return t.Scope + "::" + t.Name
}

// read returns the functions of a file. One that ctags cannot read has none.
func (f *functions) read(ctx context.Context, of file) (tags []tag) {
	dir, err := os.MkdirTemp("", "rmq-mcp-code-")
	if err != nil {
		return nil
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "source"+filepath.Ext(of.path))
	if err := os.WriteFile(name, of.text, 0o600); err != nil {
		return nil
	}
	out, err := exec.CommandContext(ctx, f.ctags, "--options=NONE", "--output-format=json", "--fields=+neKs", "-f", "-", name).Output()
	if err != nil {
		return nil
	}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		var t tag
		if json.Unmarshal(lines.Bytes(), &t) == nil && slices.Contains(callable, t.Kind) {
			tags = append(tags, t)
		}
	}
	return tags
}
