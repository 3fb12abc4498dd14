// Package publish puts sealed runs, with a page over several of them, where people can
// read them: a directory, a git remote, GitHub.
package publish

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/reports"
)

// A Destination is where reports are published:
//
//	github:OWNER/REPO[@BRANCH]       through GitHub's API, token from RMQ_GITHUB_TOKEN or GITHUB_TOKEN
//	https://… ssh://… git@… PATH.git a git remote, with #BRANCH where it is not the default one
//	PATH                             a directory
//
// Everywhere a run lands in runs/ID/, so that what was published is laid out
// like a state directory and the dashboard reads either.
type Destination string

// Pushed is what was published.
type Pushed struct {
	URL    string   `json:"url"`              // where people find it
	Commit string   `json:"commit,omitempty"` // hash, of a git destination
	Paths  []string `json:"paths"`            // in the destination
	Pages  []string `json:"pages"`            // those of them that people read first: the overview, and one of each run
	Bytes  int64    `json:"bytes"`            // of all files together
}

// of is p with these files in it.
func (p Pushed) of(files []file) Pushed {
	for _, f := range files {
		p.Paths = append(p.Paths, f.path)
		p.Bytes += int64(len(f.content))
		if path.Base(f.path) == reports.MarkdownFile || path.Dir(f.path) == OverviewsDir {
			p.Pages = append(p.Pages, f.path)
		}
	}
	return p
}

// A Folder is a run, or pages beside the runs: files by their names in it. Its name is a path.
type Folder struct {
	Name  string
	Pages map[string][]byte
	Whole bool   // it takes the place of the folder there: no other file stays in it, or below it
	Of    string // the directory that it was made of; "" where there is none
}

// A publication is files, and folders in which no others stay.
type publication struct {
	files   []file
	folders []Folder // the whole ones
	message string
}

// add adds the pages of folders.
func (p *publication) add(folders ...Folder) {
	for _, f := range folders {
		if f.Whole {
			p.folders = append(p.folders, f)
		}
		for _, name := range slices.Sorted(maps.Keys(f.Pages)) {
			p.files = append(p.files, file{path.Join(f.Name, name), f.Pages[name]})
		}
	}
}

// takesPlace is an error where the folder of a run would take the place of another run, or of
// notes that it does not have. The names are the files there; same reports whether one has
// this content.
func (f Folder) takesPlace(names []string, same func(name string, content []byte) (bool, error)) error {
	if f.Of == "" {
		return nil
	}
	for _, name := range names {
		rel := strings.TrimPrefix(name, f.Name+"/")
		if rel == reports.SealFile {
			is, err := same(name, f.Pages[rel])
			if err != nil {
				return err
			}
			if !is {
				return fmt.Errorf("publish %s: another run is at %s there, with another seal; publish to another place", f.Of, f.Name)
			}
		}
		if _, has := f.Pages[rel]; slices.Contains(later, rel) && !has {
			return fmt.Errorf("publish %s: the copy at %s there has %s, which this one lacks; publish from where that was written, or to another place", f.Of, f.Name, rel)
		}
	}
	return nil
}

// stale are those of the files in a whole folder that go, as they are not in it any more.
func (f Folder) stale(names []string) []string {
	return slices.DeleteFunc(names, func(name string) bool {
		_, stays := f.Pages[strings.TrimPrefix(name, f.Name+"/")]
		return stays
	})
}

// A publisher puts files in one place, all or none of them visible at once
// where the place can do that.
type publisher interface {
	publish(ctx context.Context, p publication) (Pushed, error)
	check(f Folder) error // whether it could take the folder, as far as that is known before
	where() string        // for people
}

// A file to publish, its path with slashes.
type file struct {
	path    string
	content []byte
}

// Push publishes sealed runs together with the agent's words about them. The
// words are chained onto each run's notes and quoted in its report. A run
// whose seal or verdict does not hold is refused with a [*reports.BrokenSeal]. With an
// overview there is a page over all of them, nil for none.
func Push(ctx context.Context, runDirs []string, to Destination, words reports.Words, over *Overview, beside ...Folder) (Pushed, error) {
	if len(runDirs) == 0 && len(beside) == 0 {
		return Pushed{}, errors.New("push: no run named; rmq-mcp list runs shows them")
	}
	p, err := to.publisher()
	if err != nil {
		return Pushed{}, err
	}
	return pushTo(ctx, p, runDirs, words, over, beside...)
}

func pushTo(ctx context.Context, p publisher, runDirs []string, words reports.Words, over *Overview, beside ...Folder) (Pushed, error) {
	all := publication{}
	var rows []reports.Row
	var message string
	folders := make([]Folder, len(runDirs))
	for i, dir := range runDirs { // before anything is written
		var err error
		if folders[i], err = checked(p, dir); err != nil {
			return Pushed{}, err
		}
	}
	for i, dir := range runDirs {
		summary, err := reports.AddWords(dir, words)
		if err != nil {
			return Pushed{}, fmt.Errorf("push %s: %w", dir, err)
		}
		if err := folders[i].readPages(); err != nil {
			return Pushed{}, fmt.Errorf("push %s: %w", dir, err)
		}
		all.add(folders[i])
		rows = append(rows, summary.Row)
		message += fmt.Sprintf("%s: %s, %s\n", summary.ID, summary.Name(), summary.State)
	}
	page, err := over.page(words, rows)
	if err != nil {
		return Pushed{}, err
	}
	all.files, all.message = append(page, all.files...), commitMessage(message)
	all.add(beside...)
	return p.publish(ctx, all)
}

// Preview returns what Push would publish and where, and publishes nothing.
func Preview(runDirs []string, to Destination, words reports.Words, over *Overview, beside ...Folder) (Pushed, error) {
	p, err := to.publisher()
	if err != nil {
		return Pushed{}, err
	}
	all := publication{}
	var rows []reports.Row
	for _, dir := range runDirs {
		if _, err := reports.Verify(dir); err != nil {
			return Pushed{}, fmt.Errorf("push %s: %w", dir, err)
		}
		files, err := checked(p, dir)
		if err != nil {
			return Pushed{}, err
		}
		summary, err := reports.Dir(dir).Summary()
		if err != nil {
			return Pushed{}, fmt.Errorf("push %s: %w", dir, err)
		}
		all.add(files)
		rows = append(rows, summary.Row)
	}
	page, err := over.page(words, rows)
	if err != nil {
		return Pushed{}, err
	}
	all.add(beside...)
	return Pushed{URL: p.where()}.of(append(page, all.files...)), nil
}

// checked is the folder of a run, which a place could take as far as that is known before.
func checked(p publisher, dir string) (Folder, error) {
	if _, err := reports.VerifySeal(dir); err != nil {
		return Folder{}, fmt.Errorf("push %s: %w", dir, err)
	}
	summary, err := reports.Dir(dir).Summary()
	if err != nil {
		return Folder{}, fmt.Errorf("push %s: %w", dir, err)
	}
	f, err := bundle(dir, summary.ID)
	if err != nil {
		return f, fmt.Errorf("push %s: %w", dir, err)
	}
	return f, p.check(f)
}

// commitMessage names the runs. No word of an agent is in it: GitHub closes issues and
// calls people by what a commit says.
func commitMessage(runs string) string {
	if runs == "" {
		return "pages without runs\n"
	}
	return strings.TrimSpace(runs) + "\n"
}

// Check is an error where nothing could be published there: it is no place, or lacks a token.
func (d Destination) Check() error {
	_, err := d.publisher()
	return err
}

func (d Destination) publisher() (publisher, error) {
	s := strings.TrimSpace(string(d))
	switch {
	case s == "":
		return nil, errors.New("push: no destination; give github:OWNER/REPO, a git remote or a directory")
	case strings.HasPrefix(s, "github:"):
		return newGitHub(strings.TrimPrefix(s, "github:"))
	case isGitRemote(s):
		return newGitRemote(s), nil
	}
	dir, err := filepath.Abs(s)
	return directory(dir), err
}

func isGitRemote(s string) bool {
	url, _, _ := strings.Cut(s, "#")
	return strings.Contains(url, "://") || strings.HasPrefix(url, "git@") || strings.HasSuffix(url, ".git")
}
