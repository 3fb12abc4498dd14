package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/hosts"
)

// hosting are the flags of install and uninstall.
type hosting struct {
	scope, file, envelope string
	dryRun, list, asJSON  bool
}

func (a *app) install() *cobra.Command {
	var in hosting
	cmd := &cobra.Command{
		Use:   "install HOST | --list",
		Short: "Put this server into the configuration of an MCP host",
		Long: "Puts this server, as this very program by its absolute path, into the configuration of an MCP host.\n" +
			"Other servers, settings and comments stay as they are; beside a file that is changed it is kept as it was.\n" +
			"--dir and --envelope go into the entry if they are given. HOST is one of " + strings.Join(hostNames(), ", ") + ".",
		Example: "  rmq-mcp install claude-code\n" +
			"  rmq-mcp install vscode --scope project --dry-run\n" +
			"  rmq-mcp install mcp.json --file path/to/mcp.json",
		Args: func(cmd *cobra.Command, args []string) error {
			if in.list {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.ExactArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if in.list {
				m, err := machine()
				if err != nil {
					return err
				}
				return listHosts(cmd.OutOrStdout(), m, in.asJSON)
			}
			target, seen, err := in.target(args[0])
			if err != nil {
				return err
			}
			entry, err := a.entry(cmd.Flags().Changed("dir"), in.envelope)
			if err != nil {
				return err
			}
			change, err := target.Install(entry)
			if err != nil {
				return err
			}
			next := "to do: " + target.Host.After
			if !seen {
				next = "there is no trace of " + target.Host.Title + " on this machine yet\n" + next
			}
			return in.carryOut(cmd.OutOrStdout(), target.Host, change, "is in "+change.File, next)
		},
	}
	in.flags(cmd)
	cmd.Flags().StringVar(&in.envelope, "envelope", "", "YAML `file` with the limits that the server serves under")
	cmd.Flags().BoolVar(&in.list, "list", false, "show the hosts, whether each was used here, and what is installed")
	cmd.Flags().BoolVar(&in.asJSON, "json", false, "with --list: print JSON")
	return cmd
}

func (a *app) uninstall() *cobra.Command {
	var in hosting
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Take this server out of the configuration of an MCP host",
		Long: "Takes this server out of the configuration of an MCP host. A file in which nothing else was done since\n" +
			"becomes what it was before, to the byte. HOST is one of " + strings.Join(hostNames(), ", ") + ".",
		Example: "  rmq-mcp uninstall claude-code",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			target, _, err := in.target(args[0])
			if err != nil {
				return err
			}
			change, err := target.Uninstall()
			if err != nil {
				return err
			}
			done := "is not in " + change.File
			if change.Removed() {
				done = "was all there was in " + change.File + ", which is gone"
			}
			return in.carryOut(cmd.OutOrStdout(), target.Host, change, done, "")
		},
	}
	in.flags(cmd)
	return cmd
}

func (in *hosting) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.scope, "scope", string(hosts.User), "for whom: `user`, in all projects, or project, in this directory")
	f.StringVar(&in.file, "file", "", "the host's `file`, if it is not in its usual place")
	f.BoolVar(&in.dryRun, "dry-run", false, "show what would change, and change nothing")
}

// target is the file that is meant. That of --file is there for a host, seen on
// this machine or not.
func (in *hosting) target(host string) (t hosts.Target, seen bool, err error) {
	h, err := hosts.Find(host)
	if err != nil {
		return t, false, err
	}
	if in.file != "" {
		path, err := filepath.Abs(in.file)
		if err != nil {
			return t, false, fmt.Errorf("find %s: %w", in.file, err)
		}
		return h.At(path), true, nil
	}
	m, err := machine()
	if err != nil {
		return t, false, err
	}
	t, err = h.In(hosts.Scope(in.scope), m)
	return t, h.Seen(m), err
}

// carryOut does what was planned, or shows it.
func (in *hosting) carryOut(out io.Writer, h hosts.Host, c hosts.Change, done, next string) error {
	switch {
	case c.Empty():
		fmt.Fprintf(out, "%s: %s %s. Nothing was changed.\n", h.Title, hosts.Name, done)
		return nil
	case in.dryRun:
		fmt.Fprint(out, c.Diff())
		return nil
	}
	if err := c.Apply(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s: %s %s\n", h.Title, hosts.Name, done)
	if c.Backup != "" {
		fmt.Fprintf(out, "as it was: %s\n", c.Backup)
	}
	if c.Before != "" {
		fmt.Fprintf(out, "as it was before %s: %s\n", hosts.Name, c.Before)
	}
	if in.file == "" && in.scope == string(hosts.Project) && c.Backup+c.Before != "" {
		fmt.Fprintln(out, "that one is not for git: remove it, or have git ignore it, before you commit")
	}
	if next != "" {
		fmt.Fprintln(out, next)
	}
	return nil
}

// goRun is a path of a program that `go run` made: below a directory of
// temporary files, or the cache.
var goRun = regexp.MustCompile(`(^|/)go-build[0-9]*/`)

// entry is how a host starts this program as a server.
func (a *app) entry(withDir bool, limits string) (hosts.Entry, error) {
	command, err := self()
	if err != nil {
		return hosts.Entry{}, err
	}
	if goRun.MatchString(filepath.ToSlash(command[0])) {
		return hosts.Entry{}, errors.New("install: this program was started by `go run`, which removes it; `go install ./cmd/rmq-mcp` first, and run `rmq-mcp install`")
	}
	e := hosts.Entry{Command: command[0], Args: []string{"serve"}}
	dir, err := a.absolute()
	if err != nil {
		return hosts.Entry{}, err
	}
	if withDir {
		e.Args = append(e.Args, "--dir", dir)
	}
	if limits != "" {
		if limits, err = filepath.Abs(limits); err != nil {
			return hosts.Entry{}, fmt.Errorf("find the envelope: %w", err)
		}
		if _, err := envelope.Read(limits, dir); err != nil {
			return hosts.Entry{}, err // the host would show no tools, and not why
		}
		e.Args = append(e.Args, "--envelope", limits)
	}
	return e, nil
}

// machine is this one.
func machine() (hosts.Machine, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return hosts.Machine{}, fmt.Errorf("find the home directory: %w; set it, or name the host's file with --file", err)
	}
	project, err := os.Getwd()
	if err != nil {
		return hosts.Machine{}, fmt.Errorf("find the project's directory: %w", err)
	}
	return hosts.Machine{GOOS: runtime.GOOS, Home: home, Project: project, Env: os.Getenv}, nil
}

func hostNames() []string {
	names := []string{}
	for _, h := range hosts.All() {
		names = append(names, h.Name)
	}
	return names
}
