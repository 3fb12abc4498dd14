package scenarios

import (
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/near"
)

//go:embed library
var library embed.FS

// Library answers all built-in scenarios, by name.
func Library() ([]*Scenario, error) {
	var all []*Scenario
	err := fs.WalkDir(library, "library", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".md" {
			return err
		}
		s, err := fromLibrary(file)
		if err == nil {
			all = append(all, s)
		}
		return err
	})
	return all, err
}

// Absolute makes the path of a scenario's file absolute. Names of the library stay as they are.
func Absolute(nameOrPath string) string {
	if filepath.Ext(nameOrPath) != ".md" {
		return nameOrPath
	}
	if path, err := filepath.Abs(nameOrPath); err == nil {
		return path
	}
	return nameOrPath
}

// Load answers a scenario of the library by its name, or one that a person
// wrote by the path of its file.
func Load(nameOrPath string) (*Scenario, error) {
	if fs.ValidPath(nameOrPath) {
		file := path.Join("library", nameOrPath+".md")
		if _, err := fs.Stat(library, file); err == nil {
			return fromLibrary(file)
		}
	}
	if strings.HasSuffix(nameOrPath, ".md") {
		text, err := os.ReadFile(nameOrPath)
		if err != nil {
			return nil, fmt.Errorf("read scenario: %w; `rmq-mcp list scenarios` shows those of the library", err)
		}
		return Parse(nameOrPath, text)
	}
	names, err := Names()
	if err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("no scenario %q%s; `rmq-mcp list scenarios`, or list_scenarios, has the %d of the library; a file of your own ends with .md", nameOrPath, near.Hint(nameOrPath, names, ""), len(names))
}

// Names answers the names of the built-in scenarios, sorted.
func Names() ([]string, error) {
	all, err := Library()
	names := make([]string, 0, len(all))
	for _, s := range all {
		names = append(names, s.Name)
	}
	return names, err
}

// All stands for every scenario of the library.
const All = "all"

// Match are the names of the library that a person means by names, by patterns like
// "mqtt/*" as of [path.Match], and by [All], each once. The path of a file stays as it
// is. It is an error where a pattern means none.
func Match(patterns []string) (found []string, err error) {
	names, err := Names()
	if err != nil {
		return nil, err
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil && path.Ext(p) != ".md" {
			return nil, fmt.Errorf("find the scenarios that %q means: %w; there are %s", p, err, strings.Join(names, ", "))
		}
		means := []string{p}
		if p == All || strings.ContainsAny(p, "*?[") && path.Ext(p) != ".md" {
			means = slices.DeleteFunc(slices.Clone(names), func(name string) bool {
				fits, _ := path.Match(p, name)
				return p != All && !fits
			})
		}
		if len(means) == 0 {
			return nil, fmt.Errorf("no scenario is like %q; there are %s", p, strings.Join(names, ", "))
		}
		for _, name := range means {
			if !slices.Contains(found, name) {
				found = append(found, name)
			}
		}
	}
	return found, nil
}

func fromLibrary(file string) (*Scenario, error) {
	text, err := library.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(strings.TrimSuffix(strings.TrimPrefix(file, "library/"), ".md"), text)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
