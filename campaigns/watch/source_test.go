package watch

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-github/v62/github"
)

func TestDirectory(t *testing.T) {
	dir := t.TempDir()
	archive := fmt.Sprintf("robustmq-v0.4.12-%s-%s.tar.gz", runtime.GOOS, runtime.GOARCH)
	for path, mode := range map[string]os.FileMode{
		"v0.4.11":            0o755, // a program
		"v0.4.12/" + archive: 0o644,
		"v0.4.13/other.tar":  0o644, // not there yet
		"v0.4.14":            0o644, // no program
		"nightly":            0o755,
		"v0.4.12/checksums":  0o644,
		"v0.4.11.md":         0o644,
		"v0.4/" + archive:    0o644, // an archive of another version
	} {
		path = filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("x"), mode); err != nil {
			t.Fatal(err)
		}
	}
	list, err := Directory(dir).Releases(t.Context())
	if want := []Release{{Version: "v0.4.11", Binary: filepath.Join(dir, "v0.4.11"), Notes: "x"}, {Version: "v0.4.12", Archives: dir}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	if _, err := Directory(filepath.Join(dir, "nowhere")).Releases(t.Context()); err == nil {
		t.Error("no error of a directory that is not there")
	}
}

func TestGitHubReleases(t *testing.T) {
	answer, status := `[{"tag_name":"v0.4.12","body":"fixes #7"},{"tag_name":"v0.4.13","draft":true},{"tag_name":"weekly"},{"tag_name":"v0.4.14-rc.1","prerelease":true}]`, http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/repos/o/r/releases" {
			t.Errorf("asked for %s", r.URL)
		}
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}))
	t.Cleanup(server.Close)
	client := github.NewClient(server.Client())
	var err error
	if client.BaseURL, err = url.Parse(server.URL + "/"); err != nil {
		t.Fatal(err)
	}
	from := GitHub{Client: client, Owner: "o", Repo: "r"}
	list, err := from.Releases(t.Context())
	if want := []Release{{Version: "v0.4.12", Notes: "fixes #7", Repo: "o/r"}, {Version: "v0.4.14-rc.1", Repo: "o/r"}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
	answer, status = `{"message":"API rate limit exceeded"}`, http.StatusForbidden
	if _, err := from.Releases(t.Context()); err == nil {
		t.Error("no error where GitHub refuses")
	}
}
