package publish

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-git/go-git/v5/plumbing"
	"github.com/google/go-github/v62/github"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

// gitHub publishes as one commit, by the Git data API: blobs, a tree on top of
// the branch's, a commit, and the branch moved to it without force.
type gitHub struct {
	client      *github.Client
	owner, repo string
	branch      string // "": the repository's default
	token       secret.Text
	pause       time.Duration // after a race
	blind       time.Duration // after a limit that does not say when it passes
}

func newGitHub(s string) (*gitHub, error) {
	name, branch, _ := strings.Cut(s, "@")
	r, err := GitHub(name)
	if err == nil {
		err = r.Writable()
	}
	if err != nil {
		return nil, fmt.Errorf("push to github:%s: %w", s, err)
	}
	return &gitHub{client: r.Client, owner: r.Owner, repo: r.Name, branch: branch, token: r.Token, pause: 200 * time.Millisecond, blind: BlindWait}, nil
}

// APIEnv names another address of GitHub's API, as GitHub's own runners do.
const APIEnv = "GITHUB_API_URL"

// A Repository is one of GitHub. No error that is shown may have the token in it: see
// [WithoutSecret].
type Repository struct {
	Client      *github.Client
	Owner, Name string
	Token       secret.Text // zero: it is only read, and public
}

// GitHub is a repository, OWNER/REPO, with the token of the environment if there is one.
func GitHub(name string) (r Repository, err error) {
	owner, repo, ok := strings.Cut(name, "/")
	if !ok || owner == "" || repo == "" || strings.Contains(repo, "/") {
		return r, fmt.Errorf("%q is no repository of GitHub: want OWNER/REPO", name)
	}
	r = Repository{github.NewClient(&http.Client{Transport: patientTransport(), Timeout: longestRequest}), owner, repo, githubToken()}
	if !r.Token.IsZero() {
		r.Client = r.Client.WithAuthToken(r.Token.Reveal())
	}
	if at := os.Getenv(APIEnv); at != "" {
		if r.Client.BaseURL, err = url.Parse(strings.TrimSuffix(at, "/") + "/"); err != nil {
			return r, fmt.Errorf("%s: %w", APIEnv, err)
		}
	}
	return r, nil
}

// longestRequest is how long a request may take: a file of a run is large, and lines are slow.
const longestRequest = 15 * time.Minute

// patientTransport waits no longer than a minute until GitHub begins to answer.
func patientTransport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.ResponseHeaderTimeout = time.Minute
	return t
}

// Writable is an error where there is no token.
func (r Repository) Writable() error {
	if r.Token.IsZero() {
		return errors.New("no token; set RMQ_GITHUB_TOKEN or GITHUB_TOKEN to one that may write to the repository")
	}
	return nil
}

func (g *gitHub) where() string { return fmt.Sprintf("https://github.com/%s/%s", g.owner, g.repo) }

func githubToken() secret.Text {
	return secret.NewText(cmp.Or(os.Getenv("RMQ_GITHUB_TOKEN"), os.Getenv("GITHUB_TOKEN")))
}

func (g *gitHub) publish(ctx context.Context, p publication) (Pushed, error) {
	pushed, err := g.commit(ctx, p)
	if err != nil {
		return Pushed{}, WithoutSecret(fmt.Errorf("push to github:%s/%s: %w", g.owner, g.repo, err), g.token.Reveal())
	}
	return pushed, nil
}

func (g *gitHub) commit(ctx context.Context, p publication) (Pushed, error) {
	var repo *github.Repository
	err := g.patiently(ctx, func() (err error) {
		repo, _, err = g.client.Repositories.Get(ctx, g.owner, g.repo)
		return err
	})
	if err != nil {
		return Pushed{}, explained(err, "see that the repository exists and the token may write its contents")
	}
	branch := cmp.Or(g.branch, repo.GetDefaultBranch())
	var there map[string]bool
	err = g.patiently(ctx, func() (err error) {
		there, err = g.published(ctx, branch)
		return err
	})
	if err != nil {
		return Pushed{}, err
	}
	entries, err := g.blobs(ctx, p.files, there)
	if err != nil {
		return Pushed{}, err
	}
	for attempt := range pushAttempts {
		var hash string
		err = g.patiently(ctx, func() (err error) {
			hash, err = g.attempt(ctx, branch, entries, p)
			return err
		})
		if err == nil {
			url := fmt.Sprintf("%s/commit/%s", repo.GetHTMLURL(), hash)
			return Pushed{URL: url, Commit: hash}.of(p.files), nil
		}
		if !raced(err) {
			break
		}
		if err := pauseFor(ctx, g.pause<<attempt); err != nil {
			return Pushed{}, err
		}
	}
	return Pushed{}, err
}

// published are the hashes of the files of a branch, as far as GitHub lists them at once.
func (g *gitHub) published(ctx context.Context, branch string) (map[string]bool, error) {
	ref, _, err := g.client.Git.GetRef(ctx, g.owner, g.repo, "refs/heads/"+branch)
	if err != nil {
		return nil, explained(fmt.Errorf("read branch %s: %w", branch, err), "the branch must exist and hold a commit")
	}
	hashes, _, err := g.listed(ctx, ref.Object.GetSHA())
	if err != nil {
		return nil, fmt.Errorf("read what is published: %w", err)
	}
	there := map[string]bool{}
	for _, hash := range hashes {
		there[hash] = true
	}
	return there, nil
}

// listed are the hashes of the files of a tree by their paths, and whether GitHub lists all of
// them at once.
func (g *gitHub) listed(ctx context.Context, tree string) (hashes map[string]string, all bool, err error) {
	list, _, err := g.client.Git.GetTree(ctx, g.owner, g.repo, tree, true)
	if err != nil {
		return nil, false, err
	}
	hashes = map[string]string{}
	for _, e := range list.Entries {
		if e.GetType() == "blob" {
			hashes[e.GetPath()] = e.GetSHA()
		}
	}
	return hashes, !list.GetTruncated(), nil
}

// blobs uploads the contents that are not there yet. They are addressed by content, so an
// attempt that lost a race uses them again.
func (g *gitHub) blobs(ctx context.Context, files []file, there map[string]bool) ([]*github.TreeEntry, error) {
	var entries []*github.TreeEntry
	for _, f := range files {
		entry := &github.TreeEntry{Path: github.String(f.path), Mode: github.String("100644"), Type: github.String("blob")}
		if sum := plumbing.ComputeHash(plumbing.BlobObject, f.content).String(); there[sum] {
			entry.SHA = &sum
			entries = append(entries, entry)
			continue
		}
		content, encoding := base64.StdEncoding.EncodeToString(f.content), "base64"
		if utf8.Valid(f.content) {
			content, encoding = string(f.content), "utf-8"
		}
		var blob *github.Blob
		err := g.patiently(ctx, func() (err error) {
			blob, _, err = g.client.Git.CreateBlob(ctx, g.owner, g.repo, &github.Blob{Content: &content, Encoding: &encoding})
			return err
		})
		if err != nil {
			return nil, explained(fmt.Errorf("upload %s: %w", f.path, err), "see that the token may write the repository's contents")
		}
		entry.SHA = blob.SHA
		entries = append(entries, entry)
	}
	return entries, nil
}

// attempt puts one commit on top of where the branch is now.
func (g *gitHub) attempt(ctx context.Context, branch string, entries []*github.TreeEntry, p publication) (string, error) {
	ref, _, err := g.client.Git.GetRef(ctx, g.owner, g.repo, "refs/heads/"+branch)
	if err != nil {
		return "", explained(fmt.Errorf("read branch %s: %w", branch, err), "the branch must exist and hold a commit")
	}
	parent, _, err := g.client.Git.GetCommit(ctx, g.owner, g.repo, ref.Object.GetSHA())
	if err != nil {
		return "", fmt.Errorf("read commit %s: %w", ref.Object.GetSHA(), err)
	}
	old, err := g.stale(ctx, parent.Tree.GetSHA(), p)
	if err != nil {
		return "", err
	}
	tree, _, err := g.client.Git.CreateTree(ctx, g.owner, g.repo, parent.Tree.GetSHA(), slices.Concat(entries, old))
	if err != nil {
		return "", fmt.Errorf("create a tree: %w", err)
	}
	if tree.GetSHA() == parent.Tree.GetSHA() {
		return parent.GetSHA(), nil // already published, byte for byte
	}
	commit, _, err := g.client.Git.CreateCommit(ctx, g.owner, g.repo,
		&github.Commit{Message: &p.message, Tree: tree, Parents: []*github.Commit{parent}}, nil)
	if err != nil {
		return "", fmt.Errorf("create a commit: %w", err)
	}
	ref.Object.SHA = commit.SHA
	if _, _, err := g.client.Git.UpdateRef(ctx, g.owner, g.repo, ref, false); err != nil {
		return "", &refMoved{branch, err}
	}
	return commit.GetSHA(), nil
}

// stale are entries that take the files of before out of a tree.
func (g *gitHub) stale(ctx context.Context, root string, p publication) (entries []*github.TreeEntry, err error) {
	if len(p.folders) == 0 {
		return nil, nil
	}
	hashes, all, err := g.listed(ctx, root)
	if err != nil {
		return nil, fmt.Errorf("read what is published: %w", err)
	}
	for _, folder := range p.folders {
		if !all { // a large repository
			if hashes, err = g.filesIn(ctx, root, folder.Name); err != nil {
				return nil, fmt.Errorf("read %s as it is published: %w", folder.Name, err)
			}
		}
		there := below(hashes, folder.Name)
		err = folder.takesPlace(there, func(name string, content []byte) (bool, error) {
			return hashes[name] == plumbing.ComputeHash(plumbing.BlobObject, content).String(), nil
		})
		if err != nil {
			return nil, err
		}
		for _, name := range folder.stale(there) {
			entries = append(entries, &github.TreeEntry{Path: github.String(name), Mode: github.String("100644"), Type: github.String("blob")}) // without a hash: it goes
		}
	}
	return entries, nil
}

// below are the files in and below a folder, sorted.
func below(hashes map[string]string, folder string) (names []string) {
	for name := range hashes {
		if strings.HasPrefix(name, folder+"/") {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// filesIn are the hashes of the files in and below a folder of a tree, by their paths in the
// tree; none where it is not there.
func (g *gitHub) filesIn(ctx context.Context, tree, folder string) (map[string]string, error) {
	for rest := folder; rest != ""; {
		var first string
		first, rest, _ = strings.Cut(rest, "/")
		list, _, err := g.client.Git.GetTree(ctx, g.owner, g.repo, tree, false)
		if err != nil {
			return nil, err
		}
		i := slices.IndexFunc(list.Entries, func(e *github.TreeEntry) bool { return e.GetType() == "tree" && e.GetPath() == first })
		if i < 0 {
			return nil, nil
		}
		tree = list.Entries[i].GetSHA()
	}
	hashes, all, err := g.listed(ctx, tree)
	if err == nil && !all {
		err = errors.New("GitHub lists a part of it alone")
	}
	if err != nil {
		return nil, err
	}
	inside := map[string]string{}
	for name, hash := range hashes {
		inside[path.Join(folder, name)] = hash
	}
	return inside, nil
}

// check knows nothing before GitHub is asked.
func (g *gitHub) check(Folder) error { return nil }

// refMoved is a branch that would not go to the new commit.
type refMoved struct {
	branch string
	err    error
}

func (e *refMoved) Error() string { return fmt.Sprintf("move branch %s: %v", e.branch, e.err) }
func (e *refMoved) Unwrap() error { return e.err }

// raced reports whether a branch could not be moved because somebody else
// moved it first: 409, or 422 for an update that is not a fast forward.
func raced(err error) bool {
	var moved *refMoved
	var answer *github.ErrorResponse
	if !errors.As(err, &moved) || !errors.As(err, &answer) {
		return false
	}
	status := answer.Response.StatusCode
	return status == http.StatusConflict || status == http.StatusUnprocessableEntity
}

func explained(err error, next string) error { return fmt.Errorf("%w; %s", err, next) }

func pauseFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
