package publish

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/go-git/go-git/v5"
	"github.com/go-git/go-git/v5/config"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/object"
	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/http"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

// pushAttempts bounds how often a push is prepared anew because somebody else
// pushed meanwhile.
const pushAttempts = 8

// gitRemote publishes as one commit on a branch. Nothing is ever forced.
type gitRemote struct {
	url    string
	branch string      // "": the remote's default
	token  secret.Text // of an https remote
}

func newGitRemote(s string) *gitRemote {
	address, branch, _ := strings.Cut(s, "#")
	r := &gitRemote{url: address, branch: branch}
	if u, err := url.Parse(address); err == nil && u.Scheme == "https" && u.Hostname() == "github.com" {
		r.token = githubToken()
	}
	return r
}

func (r *gitRemote) publish(ctx context.Context, p publication) (Pushed, error) {
	var err error
	for attempt := range pushAttempts {
		var commit string
		var moved bool
		if commit, moved, err = r.attempt(ctx, p); err == nil {
			return Pushed{URL: r.where(), Commit: commit}.of(p.files), nil
		}
		if !moved {
			break
		}
		if perr := pauseFor(ctx, 10*time.Millisecond<<attempt); perr != nil {
			err = perr
			break
		}
	}
	return Pushed{}, WithoutSecret(fmt.Errorf("push to %s: %w", r.where(), err), r.token.Reveal(), r.password())
}

// attempt clones, commits and pushes once. moved says that somebody else pushes
// to the branch too, so that another attempt may succeed.
func (r *gitRemote) attempt(ctx context.Context, p publication) (commit string, moved bool, err error) {
	dir, err := os.MkdirTemp("", "rmq-mcp-push-")
	if err != nil {
		return "", false, err
	}
	defer os.RemoveAll(dir)
	repo, branch, base, err := r.clone(ctx, dir)
	if err != nil {
		return "", false, err
	}
	hash, err := commitFiles(ctx, repo, dir, p)
	if err != nil {
		return "", false, err
	}
	if hash == base {
		return base.String(), false, nil // already published, byte for byte
	}
	ref := config.RefSpec(fmt.Sprintf("%s:%s", branch, branch))
	err = repo.PushContext(ctx, &git.PushOptions{RemoteName: "origin", RefSpecs: []config.RefSpec{ref}, Auth: r.auth()})
	if err == nil {
		return hash.String(), false, nil
	}
	now, lerr := r.head(ctx, repo, branch)
	return "", contended(err) || lerr == nil && now != base, err
}

// contended reports whether the remote was just taking another push: then its
// branch may be seen to move only in a moment.
func contended(err error) bool {
	for _, answer := range []string{"failed to update ref", "lock", "incorrect old value"} {
		if strings.Contains(err.Error(), answer) {
			return true
		}
	}
	return false
}

// clone answers the repository, the branch to push to and where it points; an
// empty remote is a repository without a commit.
func (r *gitRemote) clone(ctx context.Context, dir string) (*git.Repository, plumbing.ReferenceName, plumbing.Hash, error) {
	opts := &git.CloneOptions{URL: r.url, Depth: 1, SingleBranch: true, Tags: git.NoTags, Auth: r.auth()}
	if r.branch != "" {
		opts.ReferenceName = plumbing.NewBranchReferenceName(r.branch)
	}
	repo, err := git.PlainCloneContext(ctx, dir, false, opts)
	if errors.Is(err, transport.ErrEmptyRemoteRepository) {
		return r.initialize(dir)
	}
	if errors.Is(err, plumbing.ErrReferenceNotFound) {
		return nil, "", plumbing.ZeroHash, fmt.Errorf("no branch %s; create it, or leave it out for the default branch", r.branch)
	}
	if err != nil {
		return nil, "", plumbing.ZeroHash, fmt.Errorf("clone: %w", err)
	}
	head, err := repo.Head()
	if err != nil {
		return nil, "", plumbing.ZeroHash, fmt.Errorf("read the clone's head: %w", err)
	}
	return repo, head.Name(), head.Hash(), nil
}

// initialize begins the first branch of an empty remote: the one that a clone checks out.
func (r *gitRemote) initialize(dir string) (*git.Repository, plumbing.ReferenceName, plumbing.Hash, error) {
	branch := r.defaultBranch()
	if r.branch != "" {
		branch = plumbing.NewBranchReferenceName(r.branch)
	}
	if err := os.RemoveAll(dir); err != nil {
		return nil, "", plumbing.ZeroHash, err
	}
	repo, err := git.PlainInitWithOptions(dir, &git.PlainInitOptions{InitOptions: git.InitOptions{DefaultBranch: branch}})
	if err == nil {
		_, err = repo.CreateRemote(&config.RemoteConfig{Name: "origin", URLs: []string{r.url}})
	}
	return repo, branch, plumbing.ZeroHash, err
}

// defaultBranch is what the HEAD of a remote on this machine names. Others do not tell it
// while they are empty, and hosts like GitHub take the first branch for it.
func (r *gitRemote) defaultBranch() plumbing.ReferenceName {
	repo, err := git.PlainOpen(strings.TrimPrefix(r.url, "file://"))
	if err != nil {
		return plumbing.Main
	}
	head, err := repo.Reference(plumbing.HEAD, false)
	if err != nil || !head.Target().IsBranch() {
		return plumbing.Main
	}
	return head.Target()
}

func commitFiles(ctx context.Context, repo *git.Repository, dir string, p publication) (plumbing.Hash, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	defer root.Close()
	old, err := staleIn(root, p)
	if err != nil {
		return plumbing.ZeroHash, err
	}
	if err := writeTree(ctx, root, p.files); err != nil {
		return plumbing.ZeroHash, err
	}
	tree, err := repo.Worktree()
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, f := range p.files {
		if err := tree.AddWithOptions(&git.AddOptions{Path: f.path, SkipStatus: true}); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("add %s: %w", f.path, err)
		}
	}
	for _, name := range old {
		if _, err := tree.Remove(name); err != nil {
			return plumbing.ZeroHash, fmt.Errorf("remove %s: %w", name, err)
		}
	}
	author := &object.Signature{Name: "rmq-mcp", Email: "rmq-mcp@localhost", When: time.Now()}
	hash, err := tree.Commit(p.message, &git.CommitOptions{Author: author})
	if errors.Is(err, git.ErrEmptyCommit) {
		head, err := repo.Head()
		if err != nil {
			return plumbing.ZeroHash, err
		}
		return head.Hash(), nil
	}
	return hash, err
}

// head asks the remote where the branch points now.
func (r *gitRemote) head(ctx context.Context, repo *git.Repository, branch plumbing.ReferenceName) (plumbing.Hash, error) {
	remote, err := repo.Remote("origin")
	if err != nil {
		return plumbing.ZeroHash, err
	}
	refs, err := remote.ListContext(ctx, &git.ListOptions{Auth: r.auth()})
	if err != nil {
		return plumbing.ZeroHash, err
	}
	for _, ref := range refs {
		if ref.Name() == branch {
			return ref.Hash(), nil
		}
	}
	return plumbing.ZeroHash, nil
}

func (r *gitRemote) auth() transport.AuthMethod {
	if r.token.IsZero() {
		return nil
	}
	return &http.BasicAuth{Username: "x-access-token", Password: r.token.Reveal()}
}

// check knows nothing before a clone is made.
func (r *gitRemote) check(Folder) error { return nil }

// where is the remote's address without credentials.
func (r *gitRemote) where() string {
	u, err := url.Parse(r.url)
	if err != nil || u.User == nil {
		return r.url
	}
	u.User = nil
	return u.String()
}

func (r *gitRemote) password() string {
	u, err := url.Parse(r.url)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return password
}

// WithoutSecret answers err with secrets taken out of its text.
func WithoutSecret(err error, secrets ...string) error {
	for _, s := range secrets {
		if err != nil && s != "" && strings.Contains(err.Error(), s) {
			err = errors.New(strings.ReplaceAll(err.Error(), s, secret.Hidden))
		}
	}
	return err
}
