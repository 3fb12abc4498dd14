package release

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

const version = "v0.4.11"

// A site publishes one release, for linux-amd64.
type site struct {
	*httptest.Server
	archive, sum []byte       // nil: not there
	half         bool         // breaks off in the middle
	downloads    atomic.Int32 // of the archive
}

func publish(t *testing.T, archive []byte) *site {
	t.Helper()
	hash := sha256.Sum256(archive)
	s := &site{archive: archive, sum: []byte(hex.EncodeToString(hash[:]) + "  robustmq.tar.gz\n")}
	mux := http.NewServeMux()
	path := "/" + version + "/robustmq-" + version + "-linux-amd64.tar.gz"
	mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		s.downloads.Add(1)
		if s.half {
			w.Header().Set("Content-Length", "1000000")
			w.Write(s.archive[:len(s.archive)/2])
			return
		}
		serve(w, r, s.archive)
	})
	mux.HandleFunc(path+".sha256", func(w http.ResponseWriter, r *http.Request) { serve(w, r, s.sum) })
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	return s
}

func serve(w http.ResponseWriter, r *http.Request, body []byte) {
	if body == nil {
		http.NotFound(w, r)
		return
	}
	w.Write(body)
}

// pack makes an archive of files.
func pack(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		archive.Write([]byte(text))
	}
	archive.Close()
	zip.Close()
	return out.Bytes()
}

const top = "robustmq-" + version + "-linux-amd64/"

func good(t *testing.T) []byte {
	return pack(t, map[string]string{top + "libs/broker-server": "the broker", top + "config/server.toml": "x = 1\n"})
}

func fetch(s *site, cache string) (string, error) {
	return Fetch(context.Background(), Request{Version: version, Base: s.URL, Platform: "linux-amd64", Cache: cache})
}

func TestFetch(t *testing.T) {
	s, cache := publish(t, good(t)), t.TempDir()
	for range 2 {
		path, err := fetch(s, cache)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil || string(text) != "the broker" {
			t.Errorf("%s: %q, %v", path, text, err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o100 == 0 {
			t.Errorf("%s cannot be executed: %v, %v", path, info.Mode(), err)
		}
	}
	bare := Request{Version: strings.TrimPrefix(version, "v"), Base: s.URL, Platform: "linux-amd64", Cache: cache}
	if _, err := Fetch(t.Context(), bare); err != nil {
		t.Errorf("the version without its v: %v", err)
	}
	if n := s.downloads.Load(); n != 1 {
		t.Errorf("downloaded %d times", n)
	}
	noHalves(t, cache)
}

func TestManyAtOnceDownloadOnce(t *testing.T) {
	s, cache := publish(t, good(t)), t.TempDir()
	var group sync.WaitGroup
	for range 5 {
		group.Go(func() {
			if _, err := fetch(s, cache); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.downloads.Load(); n != 1 {
		t.Errorf("downloaded %d times", n)
	}
}

func TestFetchRefuses(t *testing.T) {
	tests := map[string]struct {
		spoil func(*site)
		want  string
	}{
		"no such release": {func(s *site) { s.archive, s.sum = nil, nil }, "choose another version"},
		"no checksum":     {func(s *site) { s.sum = nil }, "version_sha256"},
		"no archive":      {func(s *site) { s.archive = nil }, "there is nothing at that address"},
		"another archive": {func(s *site) { s.archive = append(s.archive, 0) }, "nothing of it is kept"},
		"half an archive": {func(s *site) { s.half = true }, "broke off"},
		"odd checksum":    {func(s *site) { s.sum = []byte("<html>") }, "holds no checksum"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s, cache := publish(t, good(t)), t.TempDir()
			test.spoil(s)
			_, err := fetch(s, cache)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "robustmq "+version) {
				t.Fatalf("error %v, expected %q", err, test.want)
			}
			noHalves(t, cache)
			// An earlier failure does not stand in the way.
			if _, err := fetch(publish(t, good(t)), cache); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestArchivesThatAreNoRelease(t *testing.T) {
	tests := map[string]struct {
		archive []byte
		want    string
	}{
		"leads out":      {pack(t, map[string]string{"../../libs/broker-server": "x"}), "leads out of the archive"},
		"another thing":  {pack(t, map[string]string{"readme": "x"}), "no release of RobustMQ"},
		"no archive":     {[]byte("<html>not found</html>"), "unpack"},
		"an empty file":  {pack(t, map[string]string{top + "libs/broker-server": ""}), "no release of RobustMQ"},
		"a cut archive":  {good(t)[:100], "unpack"},
		"a file twice":   {twice(t), "exists"},
		"nothing at all": {pack(t, nil), "no release of RobustMQ"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			cache := t.TempDir()
			_, err := fetch(publish(t, test.archive), cache)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, expected %q", err, test.want)
			}
			noHalves(t, cache)
		})
	}
}

func twice(t *testing.T) []byte {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	archive := tar.NewWriter(zip)
	for range 2 {
		if err := archive.WriteHeader(&tar.Header{Name: top + "libs/broker-server", Mode: 0o755, Size: 1}); err != nil {
			t.Fatal(err)
		}
		archive.Write([]byte("x"))
	}
	archive.Close()
	zip.Close()
	return out.Bytes()
}

func TestChecksumOfTheCallers(t *testing.T) {
	s := publish(t, good(t))
	s.sum = nil
	hash := sha256.Sum256(s.archive)
	r := Request{Version: version, Base: s.URL, Platform: "linux-amd64", Cache: t.TempDir(), SHA256: strings.ToUpper(hex.EncodeToString(hash[:]))}
	if _, err := Fetch(t.Context(), r); err != nil {
		t.Error(err)
	}
	r.SHA256 = strings.Repeat("0", 64)
	if _, err := Fetch(t.Context(), r); err == nil {
		t.Error("another checksum was answered from the cache of the first")
	}
}

func TestBadRequests(t *testing.T) {
	for want, r := range map[string]Request{
		"not like v0.4.11":       {Version: "latest"},
		`"v1.2.3-../../x"`:       {Version: "v1.2.3-../../x"},
		"no release for":         {Version: version, Platform: "plan9-mips"},
		"no http, https or file": {Version: version, Base: "ftp://x"},
		"no sha256":              {Version: version, SHA256: "abc", Platform: "linux-amd64"},
	} {
		r.Cache = t.TempDir()
		if _, err := Fetch(t.Context(), r); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, expected %q", r, err, want)
		}
	}
}

func TestDigestOf(t *testing.T) {
	sum := strings.Repeat("ab", 32)
	text := `{"assets":[{"name":"other","digest":"sha256:` + strings.Repeat("cd", 32) + `"},{"name":"mine","digest":"sha256:` + sum + `"},{"name":"old","digest":null}]}`
	if got, err := digestOf(text, "mine"); got != sum || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	for _, name := range []string{"old", "none"} {
		if got, err := digestOf(text, name); err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// noise does not compress.
func noise(t *testing.T, n int) string {
	t.Helper()
	b := make([]byte, n)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// noHalves checks that a cache holds what is whole, and locks.
func noHalves(t *testing.T, cache string) {
	t.Helper()
	halves, err := filepath.Glob(filepath.Join(cache, ".half-*"))
	if err != nil || len(halves) > 0 {
		t.Errorf("left in the cache: %v, %v", halves, err)
	}
}
