package hosts

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func save(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// build makes a program of this module's name, for it takes a while to build
// the server.
func build(t *testing.T, dir, command string) string {
	t.Helper()
	save(t, filepath.Join(dir, "go.mod"), "module "+module+"\n")
	save(t, filepath.Join(dir, "cmd", command, "main.go"), "package main\n\nfunc main() {}\n")
	program := filepath.Join(dir, command+".exe")
	cmd := exec.Command("go", "build", "-o", program, "./cmd/"+command)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

func TestBundle(t *testing.T) {
	dir := t.TempDir()
	self := build(t, dir, "rmq-mcp")
	var out, again bytes.Buffer
	if err := Bundle(&out, self); err != nil {
		t.Fatal(err)
	}
	if err := Bundle(&again, self); err != nil || !bytes.Equal(out.Bytes(), again.Bytes()) {
		t.Errorf("a second bundle of the same program differs, or %v", err)
	}
	bundle, err := zip.NewReader(bytes.NewReader(out.Bytes()), int64(out.Len()))
	if err != nil {
		t.Fatal(err)
	}
	text, err := fs.ReadFile(bundle, "manifest.json")
	if err != nil {
		t.Fatal(err)
	}
	var manifest struct {
		Server struct {
			Entry  string `json:"entry_point"`
			Config struct {
				Command string   `json:"command"`
				Args    []string `json:"args"`
			} `json:"mcp_config"`
		} `json:"server"`
		Version       string `json:"version"`
		Compatibility struct {
			Platforms []string `json:"platforms"`
		} `json:"compatibility"`
	}
	if err := json.Unmarshal(text, &manifest); err != nil {
		t.Fatal(err)
	}
	program, err := fs.Stat(bundle, manifest.Server.Entry)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(self); err != nil || program.Size() != info.Size() || program.Mode().Perm() != 0o755 {
		t.Errorf("the program in it: %v, %d bytes, %v", program.Mode(), program.Size(), err)
	}
	if got := manifest.Server.Config; got.Command != "${__dirname}/"+manifest.Server.Entry || len(got.Args) != 1 || got.Args[0] != "serve" {
		t.Errorf("it is started by %v", got)
	}
	if got := manifest.Compatibility.Platforms; len(got) != 1 || strings.Replace(got[0], "win32", "windows", 1) != runtime.GOOS {
		t.Errorf("it is for %v", got)
	}
	for v, want := range map[string]string{"v1.2.3": "1.2.3", "v0.0.0-20260101000000-abcdef": "0.0.0-20260101000000-abcdef", "(devel)": "0.0.0-devel", "": "0.0.0-devel"} {
		if got := semantic(v); got != want {
			t.Errorf("version %q: %q, want %q", v, got, want)
		}
	}
	compiler, err := exec.LookPath("go")
	if err != nil {
		t.Fatal(err)
	}
	test, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, other := range []string{compiler, test, build(t, dir, "other"), "bundle_test.go", "nowhere"} {
		if err := Bundle(&out, other); err == nil || !strings.Contains(err.Error(), "go build ./cmd/rmq-mcp") {
			t.Errorf("%s: %v", other, err)
		}
	}
}
