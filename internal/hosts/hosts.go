// Package hosts adds this server to the programs that start MCP servers, by their own
// command lines, and removes it. A host without a command line gets a snippet for its file.
package hosts

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Name is the server's name in every host.
const Name = "rmq-mcp"

// A Host is a program that starts MCP servers.
type Host struct {
	Name  string // on the command line
	Title string // in messages

	// Scopes are the scopes that Add and Remove know, which are the host's own command
	// lines. They are empty if a person edits File.
	Scopes []Scope
	Add    func(Scope, Entry) []string
	Remove func(Scope) []string

	File  string // the file that lists servers, or how to open it
	Table string // the key of the list in File
	Typed bool   // an entry in File names its transport
	After string // what is left to do for a person
}

// A Scope says for whom a server is installed.
type Scope string

// The scopes.
const (
	User    Scope = "user"    // in every project of this user
	Project Scope = "project" // for everybody who works in one directory
)

// An Entry is how a host starts the server.
type Entry struct {
	Type    string   `json:"type,omitempty"`
	Command string   `json:"command"` // an absolute path: hosts have a search path of their own
	Args    []string `json:"args"`
}

// All is every host, in the order in which they are shown.
func All() []Host {
	return []Host{claudeCode(), claudeDesktop(), vsCode(), cursor(), codex(), geminiCLI()}
}

// Names are the names of all hosts.
func Names() (names []string) {
	for _, h := range All() {
		names = append(names, h.Name)
	}
	return names
}

// Find returns the host of that name.
func Find(name string) (Host, error) {
	for _, h := range All() {
		if h.Name == name {
			return h, nil
		}
	}
	return Host{}, fmt.Errorf("no host %q; there are %s. Any other host starts `rmq-mcp serve`", name, strings.Join(Names(), ", "))
}

// Has returns an error if the host's command line does not know the scope.
func (h Host) Has(scope Scope) error {
	if h.Add == nil || slices.Contains(h.Scopes, scope) {
		return nil
	}
	known := make([]string, len(h.Scopes))
	for i, s := range h.Scopes {
		known[i] = string(s)
	}
	return fmt.Errorf("%s has no scope %q; it has %s", h.Title, scope, strings.Join(known, ", "))
}

// Snippet is the text for the host's file.
func (h Host) Snippet(e Entry) string {
	if h.Typed {
		e.Type = "stdio"
	}
	text, err := json.MarshalIndent(map[string]map[string]Entry{h.Table: {Name: e}}, "", "  ")
	if err != nil {
		panic(err) // strings have a JSON form
	}
	return string(text)
}

// Line is a command line as a person types it into a shell.
func Line(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		words[i] = plain.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// Run runs a command line of the host, whose output goes to out.
func (h Host) Run(ctx context.Context, command []string, out io.Writer) error {
	if _, err := exec.LookPath(command[0]); err != nil {
		return fmt.Errorf("%s: %s is not on the PATH; install it, or run this on the machine that has it: %s", h.Title, command[0], Line(command))
	}
	fmt.Fprintln(out, "$", Line(command))
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %s: %w", h.Title, Line(command), err)
	}
	return nil
}
