package microvm

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// A Kernel is one of Debian's for clouds: it has nearly everything as modules
// and boots on little.
type Kernel struct {
	Image string // path of vmlinuz
	by    map[string]string
}

// metaPackage depends on the newest kernel of the release.
const metaPackage = "linux-image-cloud-amd64"

const emulator = "qemu-system-x86_64"

// Cached is Fetch into the user's cache, where there is a qemu to boot it.
func Cached(ctx context.Context) (*Kernel, error) {
	if _, err := exec.LookPath(emulator); err != nil {
		return nil, fmt.Errorf("look for a machine: %w; install qemu-system-x86", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, err
	}
	return Fetch(ctx, filepath.Join(cache, "rmq-mcp", "kernels"))
}

// BuildTest builds the tests of the package in the working directory as a
// program for a machine.
func BuildTest(ctx context.Context, path string) error {
	build := exec.CommandContext(ctx, "go", "test", "-c", "-o", path, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the tests for a machine: %w: %s", err, out)
	}
	return nil
}

// Fetch answers Debian's kernel, from a directory where it was unpacked before
// or else by apt. Nothing is installed.
func Fetch(ctx context.Context, dir string) (*Kernel, error) {
	name, err := newest(ctx)
	if err != nil {
		return nil, fmt.Errorf("look for Debian's %s: %w; it needs apt and its lists (apt-get update)", metaPackage, err)
	}
	dir = filepath.Join(dir, name)
	if k, err := unpacked(dir); err == nil {
		return k, nil
	}
	if err := download(ctx, name, dir); err != nil {
		return nil, fmt.Errorf("download %s by apt: %w", name, err)
	}
	return unpacked(dir)
}

func newest(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-cache", "depends", metaPackage).Output()
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(out)) {
		if _, name, ok := strings.Cut(strings.TrimSpace(line), "Depends: "); ok && strings.HasPrefix(name, "linux-image-") {
			return name, nil
		}
	}
	return "", fmt.Errorf("it depends on no kernel: %s", out)
}

// download unpacks beside the directory first, so that it is there as a whole
// or not at all.
func download(ctx context.Context, name, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	temp, err := os.MkdirTemp(filepath.Dir(dir), "unpack")
	if err != nil {
		return err
	}
	defer os.RemoveAll(temp)
	get := exec.CommandContext(ctx, "apt-get", "download", name)
	get.Dir = temp
	if out, err := get.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	debs, err := filepath.Glob(filepath.Join(temp, "*.deb"))
	if err != nil || len(debs) != 1 {
		return fmt.Errorf("apt left %d packages, want 1: %v", len(debs), err)
	}
	tree := filepath.Join(temp, "tree")
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", debs[0], tree).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	if err := os.Rename(tree, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := unpacked(dir); there != nil {
			return err
		}
	}
	return nil
}

func unpacked(dir string) (*Kernel, error) {
	images, err := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
	if err != nil || len(images) != 1 {
		return nil, fmt.Errorf("%d kernels in %s, want 1: %v", len(images), dir, err)
	}
	k := &Kernel{Image: images[0], by: map[string]string{}}
	err = filepath.WalkDir(filepath.Join(dir, "lib", "modules"), func(path string, d fs.DirEntry, err error) error {
		if name, _, ok := strings.Cut(filepath.Base(path), ".ko"); ok && err == nil && !d.IsDir() {
			k.by[strings.ReplaceAll(name, "-", "_")] = path
		}
		return err
	})
	return k, err
}

// modules returns the files of modules and of their dependencies, in the order in
// which they can be loaded. A name without a module file is taken to be built in.
func (k *Kernel) modules(names []string) (out []string, err error) {
	for _, name := range names {
		path, ok := k.by[strings.ReplaceAll(name, "-", "_")]
		if !ok || slices.Contains(out, path) {
			continue
		}
		needs, err := depends(path)
		if err != nil {
			return nil, fmt.Errorf("module %s: %w", name, err)
		}
		before, err := k.modules(needs)
		if err != nil {
			return nil, err
		}
		for _, path := range append(before, path) {
			if !slices.Contains(out, path) {
				out = append(out, path)
			}
		}
	}
	return out, nil
}

// depends reads what a module needs from the section .modinfo of its file.
func depends(path string) ([]string, error) {
	f, err := elf.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w (a compressed module cannot be read)", path, err)
	}
	defer f.Close()
	section := f.Section(".modinfo")
	if section == nil {
		return nil, fmt.Errorf("%s has no section .modinfo", path)
	}
	text, err := section.Data()
	if err != nil {
		return nil, err
	}
	for field := range strings.SplitSeq(string(text), "\x00") {
		if list, ok := strings.CutPrefix(field, "depends="); ok && list != "" {
			return strings.Split(list, ","), nil
		}
	}
	return nil, nil
}
