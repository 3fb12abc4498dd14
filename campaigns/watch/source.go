package watch

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-github/v62/github"
	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/internal/broker/release"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// GitHub is the releases of a repository, without drafts.
type GitHub struct {
	Client      *github.Client
	Owner, Repo string
	Archives    string // where they are: an address as release.DefaultBase; "" for the vendor's
}

// mostReleases is how many of the newest are listed.
const mostReleases = 100

// Releases lists the newest of the repository.
func (g GitHub) Releases(ctx context.Context) (list []Release, err error) {
	found, _, err := g.Client.Repositories.ListReleases(ctx, g.Owner, g.Repo, &github.ListOptions{PerPage: mostReleases})
	if err != nil {
		return nil, fmt.Errorf("list the releases of %s/%s: %w", g.Owner, g.Repo, err)
	}
	for _, r := range found {
		if !r.GetDraft() && semver.IsValid(r.GetTagName()) {
			list = append(list, Release{
				Version: r.GetTagName(), Notes: plainNotes(r.GetBody()), Repo: g.Owner + "/" + g.Repo, Published: r.GetPublishedAt().Time, Archives: g.Archives,
			})
		}
	}
	return list, nil
}

// A Directory has a release in each entry that is named by a version. The entry is the
// broker's program, or a directory with an archive of its maker. VERSION.md has its notes.
type Directory string

// Releases lists those in the directory. An entry without either is left out: it may still be
// written.
func (d Directory) Releases(context.Context) (list []Release, err error) {
	entries, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("list the releases in %s: %w", d, err)
	}
	for _, e := range entries {
		path, version := filepath.Join(string(d), e.Name()), e.Name()
		if !semver.IsValid(version) {
			continue
		}
		notes, err := notesIn(path + ".md")
		if err != nil {
			return nil, err
		}
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist): // it was just removed
		case err != nil:
			return nil, fmt.Errorf("look at the release %s: %w", path, err)
		case info.Mode().IsRegular() && info.Mode()&0o111 != 0:
			list = append(list, Release{Version: version, Binary: path, Notes: notes})
		case info.IsDir() && release.Has(string(d), version):
			list = append(list, Release{Version: version, Archives: string(d), Notes: notes})
		}
	}
	return list, nil
}

// notesIn reads the notes of a release; "" where there are none.
func notesIn(path string) (string, error) {
	text, err := stored.ReadFile(path, stored.MostText)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read the notes of a release: %w", err)
	}
	return plainNotes(string(text)), nil
}

// plainNotes are notes as the journal keeps them.
func plainNotes(text string) string { return plain.Text(strings.ReplaceAll(text, "\r\n", "\n")) }
