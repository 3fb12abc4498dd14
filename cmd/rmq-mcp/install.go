package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/hosts"
)

// hosting are the flags of install and uninstall.
type hosting struct {
	scope  string
	dryRun bool
}

func (a *app) install() *cobra.Command {
	var in hosting
	var limits string
	cmd := &cobra.Command{
		Use:   "install HOST",
		Short: "Add this server to an MCP host",
		Long: "Adds this server, as this very program by its absolute path, to an MCP host with the host's own command.\n" +
			"For a host without one, the command prints the text for the host's file.\n" +
			"--dir and --envelope go into the entry if they are given. HOST is one of " + strings.Join(hosts.Names(), ", ") + ".",
		Example: "  rmq-mcp install claude-code\n" +
			"  rmq-mcp install gemini --scope project --dry-run\n" +
			"  rmq-mcp install claude-desktop",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := in.host(args[0])
			if err != nil {
				return err
			}
			e, err := a.entry(cmd.Flags().Changed("dir"), limits)
			if err != nil {
				return err
			}
			if h.Add == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "put this into %s:\n\n%s\n\nnext: %s\n", h.File, h.Snippet(e), h.After)
				return nil
			}
			err = in.run(cmd, h, h.Add(hosts.Scope(in.scope), e))
			if _, refused := errors.AsType[*exec.ExitError](err); refused {
				return fmt.Errorf("%w; if %s is there already, run rmq-mcp uninstall %s first", err, hosts.Name, h.Name)
			}
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "next:", h.After)
			return nil
		},
	}
	in.flags(cmd)
	cmd.Flags().StringVar(&limits, "envelope", "", "YAML `file` with the limits that the server serves under")
	return cmd
}

func (a *app) uninstall() *cobra.Command {
	var in hosting
	cmd := &cobra.Command{
		Use:   "uninstall HOST",
		Short: "Remove this server from an MCP host",
		Long: "Removes this server from an MCP host with the host's own command.\n" +
			"HOST is one of " + strings.Join(hosts.Names(), ", ") + ".",
		Example: "  rmq-mcp uninstall claude-code",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			h, err := in.host(args[0])
			if err != nil {
				return err
			}
			if h.Remove == nil {
				fmt.Fprintf(cmd.OutOrStdout(), "remove %s from %s in %s\nnext: %s\n", hosts.Name, h.Table, h.File, h.After)
				return nil
			}
			return in.run(cmd, h, h.Remove(hosts.Scope(in.scope)))
		},
	}
	in.flags(cmd)
	return cmd
}

func (in *hosting) flags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&in.scope, "scope", string(hosts.User), "for whom: `user`, in all projects, or project, in this directory")
	f.BoolVar(&in.dryRun, "dry-run", false, "show the host's command, and do not run it")
}

// host is the host that is meant, which has the scope.
func (in *hosting) host(name string) (hosts.Host, error) {
	h, err := hosts.Find(name)
	if err != nil {
		return h, err
	}
	return h, h.Has(hosts.Scope(in.scope))
}

// run runs a command of the host, or shows it.
func (in *hosting) run(cmd *cobra.Command, h hosts.Host, command []string) error {
	if in.dryRun {
		fmt.Fprintln(cmd.OutOrStdout(), hosts.Line(command))
		return nil
	}
	return h.Run(cmd.Context(), command, cmd.OutOrStdout())
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
