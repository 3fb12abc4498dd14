// Package registry installs brokers from public registries of packages, with the registries'
// own clients: npm, pip, cargo, go and mvn.
package registry

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/install"
)

// A Package is a broker in a registry, in any version.
type Package struct {
	Registry string `yaml:"registry"` // npm, pypi, crates, go, maven
	Name     string `yaml:"name"`     // aedes, or io.moquette:moquette-broker
	Program  string `yaml:"program"`  // its path below the folder that a version is installed in
}

// A client is the way in which a registry's own client installs a package.
type client struct {
	program string
	name    *regexp.Regexp // forms of names and versions: both become words of commands
	version *regexp.Regexp
	// commands are run in the folder of the version.
	commands func(dir, name, version string) [][]string
}

// The forms. A version of two numbers would be a range to npm and go.
var (
	plainName = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*$`)
	npmName   = regexp.MustCompile(`^(@[A-Za-z0-9][\w.-]*/)?[A-Za-z0-9][\w.-]*$`)
	goName    = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)+$`)
	mavenName = regexp.MustCompile(`^[A-Za-z0-9][\w.-]*:[A-Za-z0-9][\w.-]*$`)
	anyDots   = regexp.MustCompile(`^[0-9]+(\.[0-9]+)+[0-9A-Za-z.-]*$`)
	twoDots   = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*$`)
)

// Scripts of packages of npm do not run, and pip takes no package that has to be built. Cargo
// runs the build scripts of a package and of all that it needs.
var clients = map[string]client{
	"npm": {"npm", npmName, twoDots, func(dir, name, version string) [][]string {
		return [][]string{{"npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", name + "@" + version}}
	}},
	"pypi": {"python3", plainName, anyDots, func(dir, name, version string) [][]string {
		return [][]string{
			{"python3", "-m", "venv", dir},
			{filepath.Join(dir, "bin", "pip"), "install", "--disable-pip-version-check", "--only-binary", ":all:", name + "==" + version},
		}
	}},
	"crates": {"cargo", plainName, twoDots, func(dir, name, version string) [][]string {
		return [][]string{{"cargo", "install", "--locked", "--root", dir, "--version", version, name}}
	}},
	"go": {"go", goName, twoDots, func(_, name, version string) [][]string {
		return [][]string{{"go", "install", name + "@v" + version}}
	}},
	"maven": {"mvn", mavenName, anyDots, func(dir, name, version string) [][]string {
		return [][]string{{"mvn", "-q", "-B", "-f", filepath.Join(dir, "pom.xml"), "dependency:copy-dependencies", "-DoutputDirectory=" + filepath.Join(dir, "jars")}}
	}},
}

// Names are the names of all registries.
func Names() []string { return slices.Sorted(maps.Keys(clients)) }

// Check refuses a package that could not be installed in any version.
func (p Package) Check() error {
	switch c, known := clients[p.Registry]; {
	case !known:
		return fmt.Errorf("no registry %q; there are %s", p.Registry, strings.Join(Names(), ", "))
	case !c.name.MatchString(p.Name):
		return fmt.Errorf("%q is no name of a package of %s", p.Name, p.Registry)
	case !filepath.IsLocal(p.Program):
		return fmt.Errorf("program %q must be a path below the folder of the package", p.Program)
	}
	return nil
}

const (
	mark  = ".installed" // a file in the folder of a version that was installed whole
	bound = 30 * time.Minute
)

// Install installs a version into a folder of its own below cache, unless that was done
// before. It returns the path of the program. Tell may be nil.
func (p Package) Install(ctx context.Context, cache, version string, tell func(string)) (program string, err error) {
	what := fmt.Sprintf("install %s %s of %s", p.Name, version, p.Registry)
	if err := p.Check(); err != nil {
		return "", err
	}
	switch {
	case !clients[p.Registry].version.MatchString(version):
		return "", fmt.Errorf("%s: %q is no whole version, such as 1.2.0", what, version)
	case runtime.GOOS == "windows":
		return "", fmt.Errorf("%s: %w on Windows; install it by hand and give --binary", what, errors.ErrUnsupported)
	}
	if cache, err = filepath.Abs(cache); err != nil {
		return "", err
	}
	dir := filepath.Join(cache, p.Registry+"-"+strings.NewReplacer("/", "+", ":", "+").Replace(p.Name)+"-"+version)
	program = filepath.Join(dir, p.Program)
	err = p.once(ctx, dir, func() error {
		if tell != nil {
			tell(what)
		}
		if err := p.install(ctx, dir, version); err != nil {
			return err
		}
		if _, err := os.Stat(program); err != nil {
			return fmt.Errorf("%w; program of the package names it", err)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	return program, nil
}

// once fills a folder that is not whole. Processes that want the same folder wait for each other.
func (p Package) once(ctx context.Context, dir string, fill func() error) error {
	whole := func() bool { _, err := os.Stat(filepath.Join(dir, mark)); return err == nil }
	if whole() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	lock, err := install.Lock(ctx, dir+".lock")
	if err != nil {
		return fmt.Errorf("wait for another process that installs it: %w", err)
	}
	defer lock.Unlock()
	if whole() {
		return nil
	}
	if err := fill(); err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	return os.WriteFile(filepath.Join(dir, mark), nil, 0o644)
}

// install runs the registry's client in an empty folder. Its own path is part of what a
// client writes there, so the folder cannot be moved afterwards.
func (p Package) install(ctx context.Context, dir, version string) error {
	c := clients[p.Registry]
	if _, err := exec.LookPath(c.program); err != nil {
		return fmt.Errorf("%w; install it, or install the broker by hand and give --binary", err)
	}
	err := os.RemoveAll(dir)
	if err == nil {
		err = os.MkdirAll(dir, 0o755)
	}
	if err == nil && p.Registry == "maven" {
		err = os.WriteFile(filepath.Join(dir, "pom.xml"), p.pom(version), 0o644)
	}
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	build := filepath.Join(dir, "build")
	for _, argv := range c.commands(dir, p.Name, version) {
		if err := install.Run(ctx, dir, []string{"GOBIN=" + dir, "CARGO_TARGET_DIR=" + build}, argv...); err != nil {
			return err
		}
	}
	return os.RemoveAll(build)
}

// pom is a project of Maven that needs nothing but the package.
func (p Package) pom(version string) []byte {
	group, artifact, _ := strings.Cut(p.Name, ":")
	return fmt.Appendf(nil, `<project>
<modelVersion>4.0.0</modelVersion><groupId>rmq-mcp</groupId><artifactId>broker</artifactId><version>1</version>
<dependencies><dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version></dependency></dependencies>
</project>
`, group, artifact, version)
}
