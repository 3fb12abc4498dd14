package main

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/skills"
	"github.com/robustmq/rmq-mcp/tools"
)

func (a *app) lint() *cobra.Command {
	cmd := &cobra.Command{Use: "lint", Short: "Check texts that agents read", Args: unknown,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	skill := &cobra.Command{
		Use:   "skill [PATH...]",
		Short: "Check a skill's folder; without one, the skills in this program",
		Long: "Holds a skill against the Agent Skills specification, and its words against this program: what is between backticks has to be\n" +
			"a tool, a parameter, a field of an answer, a scenario, a fault, a claim, a state, or a command line that works.\n" +
			"Exit status: 1 if something is wrong.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return lintSkills(cmd.OutOrStdout(), args)
		},
	}
	cmd.AddCommand(skill)
	return cmd
}

// lintSkills prints what is wrong with the skills of these folders.
func lintSkills(out io.Writer, paths []string) error {
	folders, err := skillFolders(paths)
	if err != nil {
		return err
	}
	words, err := tools.Vocabulary(isCommand)
	if err != nil {
		return err
	}
	bad := 0
	for _, f := range folders {
		found, err := skills.Lint(f.files, f.name, words)
		if err != nil {
			return err
		}
		for _, p := range found {
			fmt.Fprintf(out, "%s/%s\n", f.name, p)
		}
		if bad += len(found); len(found) == 0 {
			fmt.Fprintf(out, "%s: nothing is wrong\n", f.name)
		}
	}
	if bad > 0 {
		return exit(1)
	}
	return nil
}

type skillFolder struct {
	name  string
	files fs.FS
}

// skillFolders are those of the paths, or this program's where there is none.
func skillFolders(paths []string) (folders []skillFolder, err error) {
	for _, path := range paths {
		path, err := filepath.Abs(path) // the name of "." is its folder's
		if err != nil {
			return nil, fmt.Errorf("lint skill: %w", err)
		}
		folders = append(folders, skillFolder{filepath.Base(path), os.DirFS(path)})
	}
	if len(paths) > 0 {
		return folders, nil
	}
	all, err := skills.All()
	for _, s := range all {
		sub, err := fs.Sub(skills.Files, s.Name)
		if err != nil {
			return nil, fmt.Errorf("lint skill %s: %w", s.Name, err)
		}
		folders = append(folders, skillFolder{s.Name, sub})
	}
	return folders, err
}

// isCommand says what is wrong with a command line. Its arguments are looked at
// where there are any.
func isCommand(line string) error {
	cmd, rest, err := newRoot().Find(strings.Fields(line)[1:])
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
	}
	args := cmd.Flags().Args()
	if len(args) == 0 {
		return nil
	}
	if cmd.HasSubCommands() && args[0] == strings.ToLower(args[0]) && !strings.Contains(args[0], ".") {
		return fmt.Errorf("no command %q; `%s --help` lists all", args[0], cmd.CommandPath())
	}
	return cmd.ValidateArgs(args)
}
