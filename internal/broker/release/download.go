package release

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"syscall"
)

// maxArchive and maxNote bound what is downloaded, in bytes.
const (
	maxArchive = 2 << 30
	maxNote    = 4 << 20
)

// sumForm is a sha256 in hex, alone or before a file's name.
var sumForm = regexp.MustCompile(`^[0-9a-fA-F]{64}$`)

// errMissing is an address at which there is nothing.
var errMissing = errors.New("there is nothing at that address")

// checksum returns the checksum that the archive must have. It is the caller's, else
// the one published beside the archive, else GitHub's own for its releases. Without
// one nothing is downloaded.
func (r Request) checksum(ctx context.Context) (string, error) {
	if r.SHA256 != "" {
		return strings.ToLower(r.SHA256), nil
	}
	text, err := note(ctx, r.url()+".sha256")
	if err == nil {
		first, _, _ := strings.Cut(strings.TrimSpace(text), " ")
		if !sumForm.MatchString(first) {
			return "", fmt.Errorf("%s.sha256 holds no checksum but %.80q", r.url(), text)
		}
		return strings.ToLower(first), nil
	}
	if !errors.Is(err, errMissing) {
		return "", err
	}
	sum, err := r.digest(ctx)
	if err == nil {
		return sum, nil
	}
	if errors.Is(err, errMissing) {
		err = fmt.Errorf("%s.sha256 does not exist; %w", r.url(), r.none())
	}
	return "", err
}

// none says why there is no checksum: because there is no such release, or
// because its maker published none.
func (r Request) none() error {
	return fmt.Errorf("either there is no release %s for %s at %s, or it has no checksum; choose another version, or set version_sha256 to the archive's", r.Version, r.Platform, r.Base)
}

// digest asks GitHub, which keeps a checksum of every file of a release.
func (r Request) digest(ctx context.Context) (string, error) {
	repo, ok := strings.CutPrefix(r.Base, "https://github.com/")
	repo, ok2 := strings.CutSuffix(repo, "/releases/download")
	if !ok || !ok2 {
		return "", errMissing
	}
	text, err := note(ctx, "https://api.github.com/repos/"+repo+"/releases/tags/"+r.Version)
	if err != nil {
		return "", err
	}
	return digestOf(text, r.name()+".tar.gz")
}

// digestOf finds the checksum of a file in GitHub's description of a release.
func digestOf(text, file string) (string, error) {
	var release struct {
		Assets []struct{ Name, Digest string }
	}
	if err := json.Unmarshal([]byte(text), &release); err != nil {
		return "", fmt.Errorf("read GitHub's description of the release: %w", err)
	}
	for _, a := range release.Assets {
		if sum, ok := strings.CutPrefix(a.Digest, "sha256:"); ok && a.Name == file && sumForm.MatchString(sum) {
			return sum, nil
		}
	}
	return "", errMissing
}

// note reads something short.
func note(ctx context.Context, url string) (string, error) {
	body, err := get(ctx, url)
	if err != nil {
		return "", err
	}
	defer body.Close()
	text, err := io.ReadAll(io.LimitReader(body, maxNote))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", url, err)
	}
	return string(text), nil
}

// download writes the archive to a file, and is content only with the bytes
// that were promised.
func (r Request) download(ctx context.Context, path, want string) error {
	body, err := get(ctx, r.url())
	if err != nil {
		return err
	}
	defer body.Close()
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), io.LimitReader(body, maxArchive+1))
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("the disk of %s is full after %d bytes: %w; make room there", r.Cache, n, err)
	case err != nil:
		return fmt.Errorf("%s broke off after %d bytes: %w; try again", r.url(), n, err)
	case n > maxArchive:
		return fmt.Errorf("%s is larger than %d bytes: it is no release of RobustMQ", r.url(), maxArchive)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		return fmt.Errorf("%s has sha256 %s, expected %s: it was changed on the way, or at its source; nothing of it is kept", r.url(), got, want)
	}
	return file.Close()
}

// client reads directories of this machine, too, by addresses that begin with file://. No
// site can send it there.
var client = func() *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.RegisterProtocol("file", http.NewFileTransport(http.Dir("/")))
	return &http.Client{Transport: transport, CheckRedirect: func(ask *http.Request, before []*http.Request) error {
		if ask.URL.Scheme == "file" || len(before) >= mostRedirects {
			return fmt.Errorf("it was sent on to %s", ask.URL)
		}
		return nil
	}}
}()

const mostRedirects = 10

func get(ctx context.Context, url string) (io.ReadCloser, error) {
	ask, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := client.Do(ask)
	if err != nil {
		return nil, fmt.Errorf("%w; is there a way out of this machine? Else download it elsewhere and set binary", err)
	}
	if answer.StatusCode == http.StatusOK {
		return answer.Body, nil
	}
	answer.Body.Close()
	if answer.StatusCode == http.StatusNotFound {
		return nil, fmt.Errorf("get %s: %w", url, errMissing)
	}
	return nil, fmt.Errorf("get %s: %s; try again later", url, answer.Status)
}

// short tells one source from another in the name of a directory.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:4])
}
