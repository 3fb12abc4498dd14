package main

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/robustmq/rmq-mcp/"

// TestImports keeps the picture of ARCHITECTURE.md true: who must not import
// whom. A package names itself and everything below it.
func TestImports(t *testing.T) {
	forbidden := []struct {
		from []string // these, or everything where it is "*"
		to   string
		but  []string
	}{
		{[]string{"*"}, "github.com/mark3labs/mcp-go", []string{"tools", "cmd/rmq-mcp"}},
		{[]string{"*"}, "testing", []string{"internal/testing/hosttest", "internal/mechanism/router/routertest", "internal/mechanism/docker/enginetest"}},
		{[]string{"history", "judge"}, module + "cluster", nil},
		{[]string{"history", "judge"}, module + "reports", nil},
		{[]string{"judge"}, "os", nil},
		{[]string{"judge"}, "net", nil},
		{[]string{"judge"}, "context", nil},
		{[]string{"faults"}, module + "cluster", nil},
		{[]string{"cluster"}, module + "faults", nil},
		{[]string{"clients"}, module + "cluster", nil},
		{[]string{"clients/contract"}, "github.com", nil},                                         // a Go driver is built from it and from little else
		{[]string{"clients/drivers"}, module + "internal", []string{"clients/drivers/go/native"}}, // that is made with this binary alone
		{[]string{"reports"}, module + "scenarios", nil},
		{[]string{"experiment/keeper"}, module + "scenarios", nil},
		{[]string{"*"}, module + "tools", []string{"tools", "cmd/rmq-mcp"}},
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
