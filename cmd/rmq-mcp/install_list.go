package main

import (
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/hosts"
)

// A hostLine is one host in one scope.
type hostLine struct {
	Host      string   `json:"host"`
	Title     string   `json:"title"`
	Scope     string   `json:"scope"`
	Seen      bool     `json:"seen"` // the host was used on this machine
	File      string   `json:"file"`
	Installed []string `json:"installed,omitempty"` // the command line
	Problem   string   `json:"problem,omitempty"`   // why the file cannot be read
}

func listHosts(out io.Writer, m hosts.Machine, asJSON bool) error {
	lines := []hostLine{}
	table := [][]string{{"HOST", "SCOPE", "SEEN HERE", "INSTALLED", "FILE"}}
	for _, h := range hosts.All() {
		for _, scope := range []hosts.Scope{hosts.User, hosts.Project} {
			if !h.Has(scope) {
				continue
			}
			line := hostLineOf(h, scope, m)
			lines = append(lines, line)
			seen, installed := "no", strings.Join(line.Installed, " ")
			if line.Seen {
				seen = "yes"
			}
			switch {
			case line.Problem != "":
				installed = "unknown: " + line.Problem
			case installed == "":
				installed = "-"
			}
			table = append(table, []string{line.Host, line.Scope, seen, installed, line.File})
		}
	}
	if asJSON {
		return writeJSON(out, lines)
	}
	return printTable(out, table)
}

func hostLineOf(h hosts.Host, scope hosts.Scope, m hosts.Machine) hostLine {
	line := hostLine{Host: h.Name, Title: h.Title, Scope: string(scope), Seen: h.Seen(m)}
	target, err := h.In(scope, m)
	if err != nil {
		line.Problem = err.Error()
		return line
	}
	line.File = target.Path
	entry, ok, err := target.Installed()
	switch {
	case err != nil:
		line.Problem = err.Error()
	case ok:
		line.Installed = append([]string{entry.Command}, entry.Args...)
	}
	return line
}
