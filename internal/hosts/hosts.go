// Package hosts puts this server into the configuration of the programs that
// start MCP servers, and takes it out again. It edits text: what is not ours
// keeps its bytes, comments included.
package hosts

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Name is the server's name in every host.
const Name = "rmq-mcp"

// A Host is a program that starts MCP servers named in a file.
type Host struct {
	Name  string // how the command line calls it
	Title string // how people call it

	// User and Project answer the file of a scope; nil where the host has no
	// such scope. The user's may be more than one, which is an error.
	User    func(Machine) (string, error)
	Project func(Machine) string
	// Traces are what there is where the host was used before: files or
	// directories.
	Traces func(Machine) []string

	syntax syntax
	table  string  // the key under which the file lists servers
	kind   []field // what an entry says beside command and arguments
	After  string  // what is left to do for a person
}

// All is every host, in the order in which they are shown.
func All() []Host {
	return []Host{claudeCode(), claudeDesktop(), vsCode(), cursor(), codex(), geminiCLI(), generic()}
}

// Find answers the host of that name.
func Find(name string) (Host, error) {
	names := []string{}
	for _, h := range All() {
		if h.Name == name {
			return h, nil
		}
		names = append(names, h.Name)
	}
	return Host{}, fmt.Errorf("no host %q; there are %s; any other that reads \"mcpServers\" from a file is mcp.json with --file", name, strings.Join(names, ", "))
}

// A Machine is what decides where hosts keep their files.
type Machine struct {
	GOOS    string              // as runtime.GOOS
	Home    string              // the user's home directory
	Project string              // the directory of the project
	Env     func(string) string // as os.Getenv
}

// env is the directory that a variable names, or another.
func (m Machine) env(variable, otherwise string) string {
	if dir := m.Env(variable); dir != "" {
		return dir
	}
	return otherwise
}

// appData is where desktop programs keep their settings; Electron calls it so:
// https://www.electronjs.org/docs/latest/api/app#appgetpathname.
func (m Machine) appData() string {
	switch m.GOOS {
	case "windows":
		return m.env("APPDATA", filepath.Join(m.Home, "AppData", "Roaming"))
	case "darwin":
		return filepath.Join(m.Home, "Library", "Application Support")
	}
	return m.env("XDG_CONFIG_HOME", filepath.Join(m.Home, ".config"))
}

// inHome is a file of the user's.
func inHome(path ...string) func(Machine) (string, error) {
	return func(m Machine) (string, error) { return filepath.Join(append([]string{m.Home}, path...)...), nil }
}

// inProject is a file of the project's.
func inProject(path ...string) func(Machine) string {
	return func(m Machine) string { return filepath.Join(append([]string{m.Project}, path...)...) }
}

// A Scope says for whom a server is installed.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // in every project of this user
	Project Scope = "project" // for whoever works in one directory
)

// A Target is one host's file.
type Target struct {
	Host Host
	Path string // as found; links are followed where it is read
	mode fs.FileMode
}

// Has says whether the host has a file of a scope.
func (h Host) Has(scope Scope) bool {
	return scope == User && h.User != nil || scope == Project && h.Project != nil
}

// In answers the host's file of a scope.
func (h Host) In(scope Scope, m Machine) (Target, error) {
	switch {
	case scope == User && h.User != nil:
		path, err := h.User(m)
		return Target{h, path, 0o600}, err // hosts keep secrets beside servers
	case scope == Project && h.Project != nil:
		return Target{h, h.Project(m), 0o644}, nil
	case scope != User && scope != Project:
		return Target{}, fmt.Errorf("no scope %q; there are %s and %s", scope, User, Project)
	case h.User == nil && h.Project == nil:
		return Target{}, fmt.Errorf("%s is no place of its own; name the file with --file", h.Title)
	}
	return Target{}, fmt.Errorf("%s has no scope %q; name its file with --file", h.Title, scope)
}

// At is the host's file where somebody keeps it elsewhere.
func (h Host) At(path string) Target { return Target{h, path, 0o600} }

// Seen says whether there are traces of the host on the machine.
func (h Host) Seen(m Machine) bool {
	if h.Traces == nil {
		return false
	}
	for _, path := range h.Traces(m) {
		if _, err := os.Stat(path); err == nil {
			return true
		}
	}
	return false
}
