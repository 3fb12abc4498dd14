package clients

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"

	"github.com/robustmq/rmq-mcp/internal/install"
)

// cratePattern finds the crate in a Cargo.lock of one.
var cratePattern = regexp.MustCompile(`name = "(paho-mqtt-sys)"\nversion = "([^"]+)"\nsource = "[^"]+"\nchecksum = "([0-9a-f]{64})"`)

// crateManifest asks for the crate alone: with its features come others, which
// build it for Rust.
const crateManifest = `[package]
name = "paho"
version = "0.0.0"
edition = "2021"

[lib]
path = "lib.rs"

[dependencies]
%s = { version = "=%s", default-features = false }
`

// unpackCrate downloads the crate of the lock and answers the folder with what
// is in it.
func (t c) unpackCrate(ctx context.Context, b build) (string, error) {
	found := cratePattern.FindSubmatch(b.lock)
	if found == nil {
		return "", errors.New("the lock has no crate with a checksum")
	}
	name, version, sum := string(found[1]), string(found[2]), string(found[3])
	cargo, _, err := t.cargo().find(ctx)
	if err != nil {
		return "", err
	}
	manifest := filepath.Join(b.temp, "manifest")
	if err := os.Mkdir(manifest, 0o755); err != nil {
		return "", err
	}
	for file, content := range map[string][]byte{
		"Cargo.toml": fmt.Appendf(nil, crateManifest, name, version), "Cargo.lock": b.lock, "lib.rs": nil,
	} {
		if err := os.WriteFile(filepath.Join(manifest, file), content, 0o644); err != nil {
			return "", err
		}
	}
	b.say("downloading " + name + " " + version)
	if err := b.run(ctx, manifest, []string{"CARGO_HOME=" + b.downloads}, cargo, "fetch", "--locked"); err != nil {
		return "", err
	}
	file := name + "-" + version
	kept, err := filepath.Glob(filepath.Join(b.downloads, "registry", "cache", "*", file+".crate"))
	if err != nil || len(kept) == 0 {
		return "", fmt.Errorf("cargo fetched no %s.crate: %w", file, err)
	}
	content, err := os.ReadFile(kept[0])
	if err != nil {
		return "", err
	}
	if is := sha256.Sum256(content); hex.EncodeToString(is[:]) != sum {
		return "", fmt.Errorf("%s has the checksum %x, and the lock says %s%s", kept[0], is, sum, install.Remedy("checksum mismatch"))
	}
	return filepath.Join(b.temp, file), untar(content, b.temp)
}

// untar unpacks the regular files of a compressed archive into a folder, and
// writes nothing outside it.
func untar(content []byte, dir string) error {
	unzipped, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for archive := tar.NewReader(unzipped); ; {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if header.Typeflag != tar.TypeReg {
			continue
		}
		if err := unpackFile(root, header.Name, archive); err != nil {
			return fmt.Errorf("unpack %s: %w", header.Name, err)
		}
	}
}

func unpackFile(root *os.Root, name string, content io.Reader) error {
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	file, err := root.Create(name)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
