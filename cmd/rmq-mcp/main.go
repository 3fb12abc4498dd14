// Command rmq-mcp chaos-tests a message broker: as an MCP server for an agent,
// or from the command line.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	_ "golang.org/x/crypto/x509roots/fallback" // the image of a release has no certificates

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/reports"
)

// Exit codes beside those of a verdict (0 PASS, 1 FAIL, 2 could not be told).
const (
	exitUndecided = 2
	exitHarness   = 3 // the harness could not do its job
)

// An exit is a way to end that has been explained already.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit %d", int(e)) }

func main() { os.Exit(run(context.Background(), os.Args[1:])) }

// run answers the exit code.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var code exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &code):
		return int(code)
	}
	fmt.Fprintf(os.Stderr, "rmq-mcp: %v\n", err)
	return exitHarness
}

func newRoot() *cobra.Command {
	a := &app{}
	root := &cobra.Command{
		Use:           "rmq-mcp",
		Short:         "rmq-mcp breaks a message broker on purpose, accounts for every message, and proves the loss.",
		Args:          unknown,
		Version:       versionLine(),
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	groupFlags(root)
	root.SetVersionTemplate("{{.Version}}\n")
	root.PersistentFlags().StringVar(&a.dir, "dir", defaultDir(), "state directory")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return flagError(cmd, err)
	})
	for _, g := range a.groups() {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		for _, cmd := range g.commands {
			cmd.GroupID = g.title
			called(cmd)
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(a.hidden()...)
	return root
}

// group is a heading of the list of commands.
type group struct {
	title    string
	commands []*cobra.Command
}

func (a *app) groups() []group {
	return []group{
		{"Run experiments", []*cobra.Command{a.runScenario(), a.matrix(), a.campaign(), a.plan(), a.conformance(), a.league(), a.watch()}},
		{"Look at runs", []*cobra.Command{a.list(), a.status(), a.findings(), a.compare(), a.judge(), a.verify(), a.dashboard(), a.forward()}},
		{"Explain a failure", []*cobra.Command{a.blame(), a.replay(), a.reduce(), a.code()}},
		{"Serve agents", []*cobra.Command{a.serve(), a.install(), a.uninstall(), bundle(), a.lint()}},
		{"Maintain", []*cobra.Command{a.doctor(), a.heal(), a.sdks(), a.selftest(), a.museum(), version()}},
	}
}

// unknown refuses what is no command, and says what there is near to it.
func unknown(parent *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var known []string
	for _, cmd := range parent.Commands() {
		if !cmd.Hidden {
			known = append(known, cmd.Name())
		}
	}
	return fmt.Errorf("no command %q%s; `%s --help` lists all", args[0], near.Hint(args[0], known, ""), parent.CommandPath())
}

// flagError says which flag was perhaps meant, or which value a flag takes.
func flagError(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		var known []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known = append(known, "--"+f.Name) })
		err = fmt.Errorf("no flag --%s%s", unknown.GetSpecifiedName(), near.Hint("--"+unknown.GetSpecifiedName(), known, ""))
	case errors.As(err, &invalid):
		if wants, known := flagValues[invalid.GetFlag().Value.Type()]; known {
			err = fmt.Errorf("--%s is %q, expected %s", invalid.GetFlag().Name, invalid.GetValue(), wants)
		}
	}
	return fmt.Errorf("%w; `%s --help` lists the flags", err, cmd.CommandPath())
}

// flagValues are the values that flags of a type take.
var flagValues = map[string]string{
	"int": "a whole number", "int64": "a whole number", "intSlice": "whole numbers, with commas", "bool": "true or false",
	"duration": "a time, such as 90s or 8h", "stringToString": "key=value",
}

// called has a command and those below it say how they are called when their arguments are wrong.
func called(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		called(sub)
	}
	check := cmd.Args
	if check == nil || cmd.Use == cmd.Name() && cmd.HasSubCommands() {
		return // it takes any, or none of its own, and unknown suggests a command
	}
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return fmt.Errorf("%s: arguments are %q, expected: %s", cmd.Name(), args, cmd.UseLine())
		}
		return nil
	}
}

// app is what the commands share.
type app struct {
	dir string // the state directory, as given
}

// state opens the state directory and answers its absolute path.
func (a *app) state() (string, error) {
	dir, err := a.absolute()
	if err != nil {
		return "", err
	}
	if err := keeper.OpenState(dir); err != nil {
		return "", err
	}
	healDead(dir)
	return dir, nil
}

// reading is the state directory of a command that only reads: where there is none
// it makes none.
func (a *app) reading() (string, error) {
	dir, err := a.absolute()
	if err != nil {
		return "", err
	}
	made, err := keeper.CheckState(dir)
	if err != nil && reports.Published(dir) {
		return dir, nil
	}
	if err != nil {
		return "", err
	}
	if made {
		healDead(dir)
	}
	return dir, nil
}

func (a *app) absolute() (string, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return "", fmt.Errorf("find the state directory: %w", err)
	}
	return dir, nil
}

// find answers the directory of the run that a person means.
func (a *app) find(run string) (string, error) {
	dir, err := a.absolute()
	if err != nil {
		return "", err
	}
	if made, err := keeper.CheckState(dir); err == nil && made { // a run may lie elsewhere
		healDead(dir)
	}
	return reports.Find(dir, run)
}

// healDead ends the experiments whose keeper was killed together with its
// guard. It is what every command does first; what it cannot do is said, and
// holds up nothing.
func healDead(dir string) {
	if _, err := keeper.HealDead(dir, attempt.Recover); err != nil {
		fmt.Fprintf(os.Stderr, "rmq-mcp: %v; `rmq-mcp heal` tries again\n", err)
	}
}

// self is the command line that executes this binary again.
func self() ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's own file: %w", err)
	}
	return []string{path}, nil
}

func defaultDir() string {
	if dir := os.Getenv("XDG_STATE_HOME"); dir != "" {
		return filepath.Join(dir, "rmq-mcp")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return filepath.Join(os.TempDir(), "rmq-mcp")
	}
	return filepath.Join(home, ".local", "state", "rmq-mcp")
}
