package site

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHandler(t *testing.T) {
	pages := t.TempDir()
	if err := Write(t.TempDir(), pages); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"n.log": "<script>alert(1)</script>", "SEAL": "{}", "t.svg": "<svg/>", "r.json": "{}", "x.log.zst": "x"} {
		if err := os.WriteFile(filepath.Join(pages, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	handler, err := Handler(pages, []string{"lab"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		method, host, path string
		status             int
		kind, says         string
	}{
		{"GET", "127.0.0.1:8090", "/", 200, "text/html; charset=utf-8", "No run yet"},
		{"GET", "localhost", "/n.log", 200, "text/plain; charset=utf-8", ""},
		{"GET", "[::1]:1", "/SEAL", 200, "text/plain; charset=utf-8", ""},
		{"GET", "10.0.0.7:8090", "/t.svg", 200, "image/svg+xml", ""},
		{"HEAD", "lab:8090", "/r.json", 200, "application/json", ""},
		{"GET", "lab", "/x.log.zst", 200, "application/zstd", ""},
		{"GET", "evil.example:8090", "/", 403, "text/plain; charset=utf-8", "start the dashboard with --host"},
		{"GET", "", "/", 403, "text/plain; charset=utf-8", ""},
		{"POST", "localhost", "/", 405, "text/plain; charset=utf-8", "only read"},
		{"GET", "localhost", "/../../etc/passwd", 404, "", ""},
	} {
		r := httptest.NewRequest(c.method, "http://x/", nil)
		r.Host, r.URL.Path = c.host, c.path
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		got := w.Result()
		body, _ := io.ReadAll(got.Body)
		if got.StatusCode != c.status || c.kind != "" && got.Header.Get("Content-Type") != c.kind || !strings.Contains(string(body), c.says) {
			t.Errorf("%s %s of %s: %d, %s: %.80s", c.method, c.path, c.host, got.StatusCode, got.Header.Get("Content-Type"), body)
		}
		if got.StatusCode == http.StatusOK && (got.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(got.Header.Get("Content-Security-Policy"), "script-src 'sha256-")) {
			t.Errorf("%s %s: headers %v", c.method, c.path, got.Header)
		}
	}
}
