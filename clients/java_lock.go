package clients

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/install"
)

// A javaJar is a line of a lock.
type javaJar struct{ sum, group, artifact, version string }

func (j javaJar) String() string { return j.group + ":" + j.artifact + ":" + j.version }

func (j javaJar) file() string { return j.artifact + "-" + j.version + ".jar" }

func (j javaJar) verify(dir string) error {
	sum, err := sumOf(filepath.Join(dir, j.file()))
	if err != nil {
		return err
	}
	if sum != j.sum {
		const what = "checksum mismatch"
		return fmt.Errorf("%s: %s: it is %s, and the lock says %s%s", j, what, sum, j.sum, install.Remedy(what))
	}
	return nil
}

func sumOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, f)
	return hex.EncodeToString(hash.Sum(nil)), err
}

// parseJars reads a lock.
func parseJars(lock []byte) (jars []javaJar, err error) {
	for line := range bytes.Lines(lock) {
		fields := strings.Fields(string(line))
		var name []string
		if len(fields) == 2 {
			name = strings.Split(fields[1], ":")
		}
		if len(name) != 3 {
			return nil, fmt.Errorf("the lock's line %q is not a hash and group:artifact:version", line)
		}
		jars = append(jars, javaJar{fields[0], name[0], name[1], name[2]})
	}
	if len(jars) == 0 {
		return nil, errors.New("the lock is empty")
	}
	return jars, nil
}

// pomOf makes Maven take the jars of a lock, and nothing that they depend on.
func pomOf(jars []javaJar) []byte {
	var pom bytes.Buffer
	pom.WriteString("<project><modelVersion>4.0.0</modelVersion>" +
		"<groupId>rmq-mcp</groupId><artifactId>driver</artifactId><version>1</version><dependencies>\n")
	for _, jar := range jars {
		fmt.Fprintf(&pom, "<dependency><groupId>%s</groupId><artifactId>%s</artifactId><version>%s</version>"+
			"<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>\n",
			jar.group, jar.artifact, jar.version)
	}
	pom.WriteString("</dependencies></project>\n")
	return pom.Bytes()
}

// resolve returns the lock of the dependencies in pom.xml, and of their own. The
// pom.xml lies beside the driver's sources and has the property sdk.version.
func (j java) resolve(ctx context.Context, b build) ([]byte, error) {
	pom, err := fs.ReadFile(b.source, "pom.xml")
	if err != nil {
		return nil, fmt.Errorf("what the driver needs: %w", err)
	}
	file := filepath.Join(b.temp, "pom.xml")
	if err := os.WriteFile(file, pom, 0o644); err != nil {
		return nil, err
	}
	b.say("asking Maven's repository")
	lib := filepath.Join(b.temp, javaLib)
	err = j.maven(ctx, b, copyDependencies, "-f", file, "-Dsdk.version="+b.sdk.Version,
		"-DoutputDirectory="+lib, "-Dmdep.useRepositoryLayout=true")
	if err != nil {
		return nil, err
	}
	return lockOfJars(lib)
}

// lockOfJars is the lock of the jars in a folder laid out as a repository of
// Maven: group, its dots slashes, then artifact, version, file.
func lockOfJars(lib string) ([]byte, error) {
	var lines []string
	err := fs.WalkDir(os.DirFS(lib), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".jar" {
			return err
		}
		sum, err := sumOf(filepath.Join(lib, filepath.FromSlash(name)))
		version := path.Dir(name)
		artifact := path.Dir(version)
		group := strings.ReplaceAll(path.Dir(artifact), "/", ".")
		lines = append(lines, fmt.Sprintf("%s  %s\n", sum, javaJar{"", group, path.Base(artifact), path.Base(version)}))
		return err
	})
	slices.SortFunc(lines, func(a, b string) int { return strings.Compare(a[sha256.Size*2:], b[sha256.Size*2:]) })
	return []byte(strings.Join(lines, "")), err
}
