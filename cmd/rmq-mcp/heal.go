package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

func (a *app) heal() *cobra.Command {
	return &cobra.Command{
		Use:   "heal",
		Short: "Undo what a dead experiment left behind",
		Long:  "Ends the processes of dead experiments, undoes their faults, and seals and judges their records.",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.absolute()
			if err != nil {
				return err
			}
			if _, err := keeper.CheckState(dir); err != nil {
				return err
			}
			healed, err := keeper.HealDead(dir, attempt.Recover)
			if len(healed) > 0 {
				fmt.Fprintf(cmd.OutOrStdout(), "healed %s\n", strings.Join(healed, ", "))
			}
			if err != nil {
				return err
			}
			if len(healed) == 0 {
				fmt.Fprintln(cmd.OutOrStdout(), "nothing to heal")
			}
			return nil
		},
	}
}
