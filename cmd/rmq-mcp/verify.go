package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) verify() *cobra.Command {
	return &cobra.Command{
		Use:   "verify RUN",
		Short: "Is the seal intact, is the verdict the same",
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
			fmt.Fprintf(cmd.OutOrStdout(), "intact: %s, judged again: %s\nroot %s, signed by %s\n",
				run, verified.State, verified.Seal.Root, verified.Seal.PublicKey)
			return nil
		},
	}
}
