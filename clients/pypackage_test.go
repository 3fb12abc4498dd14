package clients

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// An index is a folder from which pip installs instead of from a network.
type index struct{ dir string }

// newIndex makes pip use an empty index in this test, and skips it where there
// is no Python.
func newIndex(t *testing.T) index {
	t.Helper()
	if missing := (python{}).missing(t.Context(), SDK{}); missing != "" {
		hosttest.Skip(t, missing)
	}
	dir := t.TempDir()
	t.Setenv("PIP_NO_INDEX", "1")
	t.Setenv("PIP_FIND_LINKS", dir)
	return index{dir}
}

// add adds a file to the index and answers its hash.
func (i index) add(t *testing.T, name string, content []byte) string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(i.dir, name), content, 0o644); err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(content))
}

// wheel adds the package tiny 1.0, which has one module; extra goes to its
// metadata. It answers the lock's line.
func (i index) wheel(t *testing.T, extra string) string {
	t.Helper()
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range map[string]string{
		"tiny.py":                     "NAME = 'tiny'\n",
		"tiny-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n" + extra,
		"tiny-1.0.dist-info/WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"tiny-1.0.dist-info/RECORD":   "tiny.py,,\ntiny-1.0.dist-info/METADATA,,\ntiny-1.0.dist-info/WHEEL,,\ntiny-1.0.dist-info/RECORD,,\n",
	} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte(text))
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return "tiny==1.0 --hash=sha256:" + i.add(t, "tiny-1.0-py3-none-any.whl", out.Bytes())
}

// brokenSource adds tiny 1.0 as sources that do not build, and answers the
// lock's line.
func (i index) brokenSource(t *testing.T) string {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for name, text := range map[string]string{
		"tiny-1.0/pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
		"tiny-1.0/backend.py":     "raise SystemExit('this needs a header that is not there: openssl.h')\n",
		"tiny-1.0/PKG-INFO":       "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
	} {
		if err := w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		w.Write([]byte(text))
	}
	w.Close()
	z.Close()
	return "tiny==1.0 --hash=sha256:" + i.add(t, "tiny-1.0.tar.gz", out.Bytes())
}

// tiny is a build of a driver that uses the package tiny.
func tiny(lock string) build {
	return build{
		sdk:    SDK{Lang: "python", Package: "tiny", Version: "1.0"},
		source: fstest.MapFS{"driver.py": {Data: []byte("import tiny\nprint(tiny.NAME)\n")}},
		lock:   []byte(lock + "\n"), say: func(string) {},
	}
}
