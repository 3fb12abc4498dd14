package main

import (
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/cluster"
)

const module = "github.com/robustmq/rmq-mcp/"

// floors are the rooms of ARCHITECTURE.md from the bottom up. Nothing imports a room
// above its own, or another one beside it. A package is in the room with the longest
// name that it is below.
var floors = [][]string{
	{"clients/contract", "internal"},
	{"history", "conformance", "skills"},
	{"internal/mechanism", "internal/broker", "judge"},
	{"faults", "cluster", "clients", "reports"},
	{"internal/envelope"},
	{"scenarios"},
	{"experiment/keeper"},
	{"experiment"},
	{"campaigns"},
	{"tools"},
	{"cmd/rmq-mcp", "internal/testing", "evals"},
}

// TestFloors fails for an arrow that runs up or sideways.
func TestFloors(t *testing.T) {
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		room, floor := roomOf(name)
		if room == "" {
			t.Errorf("%s is in no room; the list is in this file", name)
		}
		for _, imported := range p.Imports {
			to, ours := strings.CutPrefix(imported, module)
			if !ours {
				continue
			}
			if other, at := roomOf(to); other != room && at >= floor {
				t.Errorf("%s imports %s, which is not below it", name, to)
			}
		}
	}
}

func roomOf(name string) (room string, floor int) {
	for i, rooms := range floors {
		for _, r := range rooms {
			if within(name, r) && len(r) > len(room) {
				room, floor = r, i
			}
		}
	}
	return room, floor
}

// TestImports checks for forbidden imports that the floors allow. A package
// names itself and everything below it.
func TestImports(t *testing.T) {
	forbidden := []struct {
		from []string // these, or everything where it is "*"
		to   string
		but  []string
	}{
		{[]string{"*"}, "github.com/mark3labs/mcp-go", []string{"tools", "cmd/rmq-mcp", "evals"}},
		{[]string{"*"}, "testing", []string{"internal/testing"}},
		{[]string{"judge"}, "os", nil},
		{[]string{"judge"}, "net", nil},
		{[]string{"judge"}, "context", nil},
		{[]string{"faults", "cluster", "clients", "experiment"}, module + "judge/checker", nil}, // the half that acts does not ask the half that judges
		{[]string{"faults", "cluster", "clients", "experiment", "scenarios"}, module + "judge/verdict", []string{"experiment/keeper"}}, // that returns what was decided
		{[]string{"cmd/rmq-mcp"}, module + "history", nil}, // a command asks the packages that know
		{[]string{"cmd/rmq-mcp"}, module + "faults", nil},
		{[]string{"cmd/rmq-mcp"}, module + "cluster", nil},
		{[]string{"cmd/rmq-mcp"}, module + "judge/checker", nil},
		{[]string{"clients/contract"}, "github.com", nil},                                         // a Go driver is built from it and from little else
		{[]string{"clients/drivers"}, module + "internal", []string{"clients/drivers/go/native"}}, // that is made with this binary alone
	}
	for _, p := range packages(t) {
		name := strings.TrimPrefix(p.ImportPath, module)
		for _, rule := range forbidden {
			if slices.ContainsFunc(rule.but, func(b string) bool { return within(name, b) }) {
				continue
			}
			if rule.from[0] != "*" && !slices.ContainsFunc(rule.from, func(f string) bool { return within(name, f) }) {
				continue
			}
			for _, imported := range p.Imports {
				if within(imported, rule.to) {
					t.Errorf("%s imports %s", name, imported)
				}
			}
		}
	}
}

func within(name, folder string) bool { return name == folder || strings.HasPrefix(name, folder+"/") }

type goPackage struct {
	ImportPath string
	Imports    []string
}

func packages(t *testing.T) []goPackage {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", module+"...").Output()
	if err != nil {
		t.Fatalf("list packages: %v", err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

// TestFlavorsAreValues fails where a flavor is known by its name outside its own file:
// what is to be known of it is a field of cluster.Flavor. Histories older than a field
// are read by the name that they recorded.
func TestFlavorsAreValues(t *testing.T) {
	names := strings.Join(cluster.FlavorNames(cluster.Any), "|")
	compared := regexp.MustCompile(`([!=]=\s*|\bcase [^:]*)"(` + names + `)"|"(` + names + `)"\s*[!=]=`)
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "history":
			return filepath.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for i, line := range strings.Split(string(text), "\n") {
			if compared.MatchString(line) {
				t.Errorf("%s:%d: %s", path, i+1, strings.TrimSpace(line))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
