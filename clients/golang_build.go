package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// contractSources are part of every driver in Go.
//
//go:embed contract/*.go
var contractSources embed.FS

// ourModule is the path that drivers in Go import their parts by.
const ourModule = "github.com/robustmq/rmq-mcp"

// golang builds a driver in Go as a module of its own, which has our path and
// only what the driver is made of. A lock is its go.mod and its go.sum.
type golang struct {
	module string            // of the SDK
	name   string            // of the driver's package
	tags   map[string]string // build tags, by version
}

// sums is the line of a lock above go.sum.
const sums = "-- go.sum --\n"

// goDirective is the version of Go for our part of a driver. goSys is the module
// that this part imports besides the standard library, in a version of that age.
const (
	goDirective = "1.22"
	goSys       = "golang.org/x/sys v0.25.0"
)

func (golang) tool(sdk SDK) tool {
	return tool{names: []string{"go"}, version: []string{"version"}, env: countsNothing(), least: sdk.Needs,
		install: systemPackages{debian: "golang-go", brew: "go", winget: "GoLang.Go"}}
}

// identity is the rest of what a driver is made of; it runs without a toolchain.
func (golang) identity(context.Context) string {
	hash := sha256.New()
	_ = eachSource(contractSources, func(name string, content []byte) error { // it is in this binary
		fmt.Fprintf(hash, "%s %d\n%s", name, len(content), content)
		return nil
	})
	return fmt.Sprintf("contract %x", hash.Sum(nil))
}

func (g golang) missing(ctx context.Context, sdk SDK) string {
	if _, _, err := g.tool(sdk).find(ctx); err != nil {
		return err.Error()
	}
	return ""
}

func (g golang) make(ctx context.Context, b build) error {
	mod, sum, whole := bytes.Cut(b.lock, []byte(sums))
	if !whole {
		return errors.New("its lock has no line " + strings.TrimSpace(sums))
	}
	if err := g.layOut(b); err != nil {
		return fmt.Errorf("lay out its module: %w", err)
	}
	if err := os.WriteFile(filepath.Join(work(b), "go.mod"), mod, 0o644); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(work(b), "go.sum"), sum, 0o644); err != nil {
		return err
	}
	b.say("building")
	return g.run(ctx, b, "-mod=readonly", "build", "-tags", g.tags[b.sdk.Version], "-o", g.binary(b.dir), ".")
}

// resolve lets the go command find out what else the SDK takes.
func (g golang) resolve(ctx context.Context, b build) ([]byte, error) {
	if err := g.layOut(b); err != nil {
		return nil, fmt.Errorf("lay out its module: %w", err)
	}
	mod := filepath.Join(work(b), "go.mod")
	text := fmt.Sprintf("module %s\n\ngo %s\n\nrequire (\n\t%s v%s\n\t%s\n)\n", ourModule, goDirective, g.module, b.sdk.Version, goSys)
	if err := os.WriteFile(mod, []byte(text), 0o644); err != nil {
		return nil, err
	}
	b.say("asking the module proxy")
	if err := g.run(ctx, b, "-mod=mod", "mod", "tidy"); err != nil {
		return nil, err
	}
	lock, err := os.ReadFile(mod)
	if err != nil {
		return nil, err
	}
	sum, err := os.ReadFile(filepath.Join(work(b), "go.sum"))
	return bytes.Join([][]byte{lock, sum}, []byte(sums)), err
}

// run runs the go command in the module, and lets nothing of it be written
// outside the cache.
func (g golang) run(ctx context.Context, b build, flags string, arguments ...string) error {
	argv0, _, err := g.tool(b.sdk).find(ctx)
	if err != nil {
		return err
	}
	env := []string{
		"GOFLAGS=" + flags + " -modcacherw -trimpath", "GOMODCACHE=" + filepath.Join(b.downloads, "modules"),
		"GOCACHE=" + filepath.Join(b.downloads, "build"), "GOTOOLCHAIN=local", "GOWORK=off", "CGO_ENABLED=0",
	}
	return b.run(ctx, work(b), append(env, countsNothing()...), append([]string{argv0}, arguments...)...)
}

// countsNothing keeps the go command from counting its uses in a folder beside
// the user's settings, which still hold. That is so on Linux.
func countsNothing() []string {
	settings := os.Getenv("GOENV")
	if config, err := os.UserConfigDir(); err == nil && settings == "" {
		settings = filepath.Join(config, "go", "env")
	}
	return []string{"XDG_CONFIG_HOME=" + os.DevNull, "GOENV=" + settings}
}

// work is the module's folder: go takes none that is TMPDIR itself.
func work(b build) string { return filepath.Join(b.temp, "module") }

// layOut writes the module's packages and its main program.
func (g golang) layOut(b build) error {
	for folder, from := range map[string]fs.FS{
		"clients":                      contractSources,
		"clients/drivers/go/driver":    b.shared,
		"clients/drivers/go/" + g.name: b.source,
	} {
		part := build{source: from}
		if err := part.copySources(filepath.Join(work(b), filepath.FromSlash(folder))); err != nil {
			return err
		}
	}
	program := fmt.Sprintf(goProgram, ourModule, g.name, g.name, b.sdk.Version)
	return os.WriteFile(filepath.Join(work(b), "main.go"), []byte(program), 0o644)
}

const goProgram = `package main

import (
	"fmt"
	"os"

	"%s/clients/drivers/go/%s"
)

func main() {
	if err := %s.Main(%q, os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// program is the driver: nothing but one file.
func (g golang) program(dir string, _ SDK) Program { return Program{Argv: []string{g.binary(dir)}} }

func (golang) binary(dir string) string {
	if runtime.GOOS == "windows" {
		return filepath.Join(dir, "driver.exe")
	}
	return filepath.Join(dir, "driver")
}
