package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify RUN",
		Short: "Check that a run's seal is intact and its verdict the same",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			run, err := a.find(args[0])
			if err != nil {
				return err
			}
			verified, err := reports.Verify(run)
			var broken *reports.BrokenSeal
			if errors.As(err, &broken) {
				fmt.Fprintf(os.Stderr, "rmq-mcp: %v\n", err)
				return exit(1)
			}
			if err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "intact: %s, judged again: %s\nroot %s, signed by %s%s\n",
				run, verified.State, verified.Seal.Root, verified.Seal.PublicKey, a.whose(verified.Seal.PublicKey))
			if len(verified.Unlike) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "not compared: %s: rmq-mcp %s recorded the run, and this version would write them otherwise; to be sure of them, verify with that one\n",
					strings.Join(verified.Unlike, ", "), verified.Tool)
			}
			return nil
		},
	}
}

// whose says whether a seal is of this state directory. Anybody who rewrites a
// run can seal it anew, but not with a key that they do not have.
func (a *app) whose(public string) string {
	key, err := reports.PublicKey(a.dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ""
	case err != nil:
		return fmt.Sprintf(" (%v)", err)
	case key == public:
		return ", the key of " + a.dir
	}
	return ", which is NOT the key of " + a.dir + ": trust it only if you know whose it is"
}
