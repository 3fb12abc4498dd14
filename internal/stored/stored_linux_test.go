package stored

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	outside := filepath.Join(t.TempDir(), "outside")
	for path, text := range map[string]string{outside: "secret", filepath.Join(dir, "file"): `{"a":"\u001b"}`} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	for _, err := range []error{
		os.Symlink(outside, at("out")), os.Symlink("file", at("in")), os.Symlink("loop", at("loop")),
		syscall.Mkfifo(at("pipe"), 0o644), os.Mkdir(at("folder"), 0o755), os.Symlink("/dev/zero", at("zero")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"file": "", "in": "", "out": "escapes", "loop": "symbolic links", "zero": "escapes",
		"pipe": "no regular file", "folder": "no regular file", "none": "no such file",
	} {
		content, err := ReadFile(at(name), 100)
		if want == "" && (err != nil || len(content) == 0) || want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), at(name))) {
			t.Errorf("%s: %q, %v, want %q", name, content, err, want)
		}
	}
	if _, err := ReadFile(at("none"), 1); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
	if _, err := ReadFile(at("file"), 3); err == nil || !strings.Contains(err.Error(), "more than 3 bytes") {
		t.Errorf("a file that is too large: %v", err)
	}
	var v struct{ A string }
	if err := ReadJSON(at("file"), &v); err != nil || v.A != "␛" {
		t.Errorf("JSON: %+v, %v", v, err)
	}
}

func TestIsID(t *testing.T) {
	for name, want := range map[string]bool{
		"1121-0107-broker-kill-9-3f2a": true, "r1": true, "A.b_c": true,
		"": false, ".": false, "..": false, ".hidden": false, "a/b": false, `a\b`: false, "a\nb": false, "ä": false, strings.Repeat("a", 129): false,
	} {
		if IsID(name) != want {
			t.Errorf("IsID(%q) is %v", name, !want)
		}
	}
}

func TestSlug(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"mqtt/broker-kill-9":      "broker-kill-9",
		"/tmp/My Own Scenario.md": "my-own-scenario",
		"mqtt/../..":              "",
	} {
		if got := Slug(in); got != want {
			t.Errorf("Slug(%q) = %q, want %q", in, got, want)
		}
	}
}
