package docker

import (
	"archive/tar"
	"context"
	"crypto/sha256"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/moby/moby/client"
)

// pullBound is how long the download of an image may take.
const pullBound = 15 * time.Minute

// SelfPath is where this program lies in the image that [Engine.ImportSelf]
// makes.
const SelfPath = "/rmq-mcp"

// An Image is one that the engine has.
type Image struct {
	ID     string // sha256:…
	Ref    string // what was asked for
	Digest string // by which a registry knows it, name@sha256:…; "" for one that was built or imported here
}

// Image answers an image by name, which is pulled where the engine does not
// have it. Progress is told of that.
func (e *Engine) Image(ctx context.Context, ref string, progress func(string)) (Image, error) {
	found, err := e.inspect(ctx, ref)
	if !gone(err) {
		return found, err
	}
	progress("pulling image " + ref)
	if err := e.pull(ctx, ref); err != nil {
		return Image{}, fmt.Errorf("the docker engine at %s does not have the image %s and could not pull it: %w; get it there by docker pull or docker load, or name another one", e.host, ref, err)
	}
	return e.inspect(ctx, ref)
}

func (e *Engine) inspect(ctx context.Context, ref string) (Image, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	found, err := e.api.ImageInspect(ctx, ref)
	if err != nil {
		return Image{}, fmt.Errorf("look for image %s: %w", ref, err)
	}
	image := Image{ID: found.ID, Ref: ref}
	if len(found.RepoDigests) > 0 {
		image.Digest = found.RepoDigests[0]
	}
	return image, nil
}

func (e *Engine) pull(ctx context.Context, ref string) error {
	ctx, cancel := context.WithTimeout(ctx, pullBound)
	defer cancel()
	stream, err := e.api.ImagePull(ctx, ref, client.ImagePullOptions{})
	if err != nil {
		return err
	}
	defer stream.Close()
	return stream.Wait(ctx)
}

// ImportSelf makes an image of nothing but the program at path, this very one,
// or answers the one that was made of the same bytes before. Such an image
// stays: it is a cache, by the hash in its name.
func (e *Engine) ImportSelf(ctx context.Context, path string) (Image, error) {
	if err := checkStatic(path); err != nil {
		return Image{}, err
	}
	sum, err := hash(path)
	if err != nil {
		return Image{}, err
	}
	ref := "rmq-mcp:" + sum[:16]
	if found, err := e.inspect(ctx, ref); !gone(err) {
		return found, err
	}
	archive, write := io.Pipe()
	go func() { write.CloseWithError(tarOf(path, write)) }()
	defer archive.Close()
	if err := e.Import(ctx, ref, archive, "ENTRYPOINT [\""+SelfPath+"\"]"); err != nil {
		return Image{}, err
	}
	return e.inspect(ctx, ref)
}

// Import makes an image of the files of a tar archive. Changes are lines of a
// Dockerfile that need no build.
func (e *Engine) Import(ctx context.Context, ref string, archive io.Reader, changes ...string) error {
	name, tag, _ := strings.Cut(ref, ":")
	answer, err := e.api.ImageImport(ctx, client.ImageImportSource{Source: archive, SourceName: "-"}, name,
		client.ImageImportOptions{Tag: tag, Changes: changes})
	if err != nil {
		return fmt.Errorf("import image %s: %w", ref, err)
	}
	defer answer.Close()
	text, err := io.ReadAll(answer)
	if err != nil {
		return fmt.Errorf("import image %s: %w", ref, err)
	}
	if strings.Contains(string(text), `"errorDetail"`) {
		return fmt.Errorf("import image %s: %s", ref, strings.TrimSpace(string(text)))
	}
	return nil
}

// checkStatic refuses a program that needs files which an empty image does not
// have.
func checkStatic(path string) error {
	program, err := elf.Open(path)
	if err != nil {
		return unsupported("%s cannot run in a container: %v", path, err)
	}
	defer program.Close()
	for _, part := range program.Progs {
		if part.Type == elf.PT_INTERP {
			return unsupported("%s was built with cgo, needs the system's libraries and cannot run in an empty image; build rmq-mcp with CGO_ENABLED=0", path)
		}
	}
	return nil
}

func hash(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("hash this program: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("hash this program: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// tarOf writes an archive with the program, and /tmp, which programs expect.
func tarOf(path string, to io.Writer) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	w := tar.NewWriter(to)
	if err := w.WriteHeader(&tar.Header{Name: "tmp/", Typeflag: tar.TypeDir, Mode: 0o1777}); err != nil {
		return err
	}
	if err := w.WriteHeader(&tar.Header{Name: SelfPath[1:], Mode: 0o755, Size: info.Size()}); err != nil {
		return err
	}
	if _, err := io.Copy(w, f); err != nil {
		return err
	}
	return w.Close()
}
