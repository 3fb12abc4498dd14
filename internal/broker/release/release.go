// Package release fetches a released RobustMQ: the archive for this platform,
// its checksum verified, unpacked once into a cache that any number of
// processes share.
package release

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/semver"
)

// DefaultBase is where the vendor publishes releases. An archive is at
// BASE/VERSION/robustmq-VERSION-PLATFORM.tar.gz.
const DefaultBase = "https://github.com/robustmq/robustmq/releases/download"

// BaseEnv names another place that is laid out like that.
const BaseEnv = "RMQ_ROBUSTMQ_RELEASES"

// fetchBound is how long the download of one release may take.
const fetchBound = 20 * time.Minute

// versionForm is what a version may look like: it becomes part of addresses and
// paths.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*$`)

// A Request says what to fetch, from where and to where.
type Request struct {
	Version  string       // v0.4.11
	Base     string       // "": BaseEnv, or DefaultBase
	Platform string       // linux-amd64; "": this one
	SHA256   string       // of the archive, in hex; "": what is published beside it
	Cache    string       // directory
	Progress func(string) // told of what takes long; may be nil
}

// Fetch returns the path of the broker's binary, and downloads it unless that was
// done before. A failure leaves nothing half done in the cache, and its error says
// what to do.
func Fetch(ctx context.Context, r Request) (binary string, err error) {
	r, err = r.complete()
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch robustmq %s: %w", r.Version, err)
		}
	}()
	if binary, err := find(r.dir()); err == nil {
		return binary, nil
	}
	ctx, cancel := context.WithTimeout(ctx, fetchBound)
	defer cancel()
	if err := os.MkdirAll(r.Cache, 0o755); err != nil {
		return "", err
	}
	// One process downloads, the others wait for it.
	lock := flock.New(r.dir() + ".lock")
	if _, err := lock.TryLockContext(ctx, 100*time.Millisecond); err != nil {
		return "", fmt.Errorf("wait for another process that fetches it: %w", err)
	}
	defer lock.Unlock()
	if binary, err := find(r.dir()); err == nil {
		return binary, nil
	}
	return r.fetch(ctx)
}

// complete fills in what was left out, and refuses what cannot be.
func (r Request) complete() (Request, error) {
	if semver.IsValid("v" + r.Version) {
		r.Version = "v" + r.Version
	}
	if !versionForm.MatchString(r.Version) || strings.Contains(r.Version, "..") {
		return r, fmt.Errorf("robustmq version %q is not like v0.4.11", r.Version)
	}
	r.Base = strings.TrimSuffix(cmp.Or(r.Base, os.Getenv(BaseEnv), DefaultBase), "/")
	if !slices.ContainsFunc([]string{"https://", "http://", "file:///"}, func(scheme string) bool { return strings.HasPrefix(r.Base, scheme) }) {
		return r, fmt.Errorf("%q is no http, https or file address of releases; see %s", r.Base, BaseEnv)
	}
	r.Platform = cmp.Or(r.Platform, here())
	if !slices.Contains(platforms(), r.Platform) {
		return r, fmt.Errorf("robustmq has no release for %s, only for %s; build it, and set binary: %w", r.Platform, strings.Join(platforms(), ", "), errors.ErrUnsupported)
	}
	if r.SHA256 != "" && !sumForm.MatchString(r.SHA256) {
		return r, fmt.Errorf("%q is no sha256 in hex", r.SHA256)
	}
	if r.Progress == nil {
		r.Progress = func(string) {}
	}
	return r, nil
}

// here is the platform of this machine.
func here() string { return runtime.GOOS + "-" + runtime.GOARCH }

// platforms are those that the vendor's release workflow packs.
func platforms() []string {
	return []string{"linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64"}
}

func (r Request) name() string { return "robustmq-" + r.Version + "-" + r.Platform }

func (r Request) url() string { return r.Base + "/" + r.Version + "/" + r.name() + ".tar.gz" }

// dir is where the release lies once it is whole. A release with a base or a checksum
// of the caller's has a directory of its own.
func (r Request) dir() string {
	name := r.name()
	if r.Base != DefaultBase || r.SHA256 != "" {
		name += "-" + short(r.Base+" "+r.SHA256)
	}
	return filepath.Join(r.Cache, name)
}

// fetch downloads into a directory beside the final one, and renames that.
func (r Request) fetch(ctx context.Context) (string, error) {
	half, err := os.MkdirTemp(r.Cache, ".half-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(half)
	want, err := r.checksum(ctx)
	if err != nil {
		return "", err
	}
	r.Progress("downloading " + r.url())
	archive := filepath.Join(half, "archive")
	if err := r.download(ctx, archive, want); err != nil {
		return "", err
	}
	files := filepath.Join(half, "files")
	if err := unpack(archive, files); err != nil {
		return "", fmt.Errorf("unpack %s: %w", r.url(), err)
	}
	if _, err := find(files); err != nil {
		return "", fmt.Errorf("%s: %w", r.url(), err)
	}
	if err := os.Rename(files, r.dir()); err != nil {
		return "", err
	}
	return find(r.dir())
}

// find answers the broker's binary below a directory.
func find(dir string) (string, error) {
	for _, pattern := range []string{"*/libs/broker-server", "*/libs/broker-server.exe"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return "", err
		}
		for _, path := range found {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > 0 {
				return path, nil
			}
		}
	}
	return "", errors.New("there is no libs/broker-server in it: it is no release of RobustMQ")
}
