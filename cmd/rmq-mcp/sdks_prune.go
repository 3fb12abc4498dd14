package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/clients"
)

func (a *app) sdksPrune() *cobra.Command {
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove drivers that this build of rmq-mcp does not use",
		Long: "Removes the drivers of other builds of rmq-mcp, and builds that were never finished. Drivers that run or are being\n" +
			"built stay. With --all everything goes, with the downloaded packages; it is made again on first use.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cache, err := a.cache()
			if err != nil {
				return err
			}
			pruned, err := clients.Prune(cmd.Context(), cache, all)
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if asJSON {
				return writeJSON(out, pruned)
			}
			for _, name := range pruned.Removed {
				fmt.Fprintln(out, "removed", name)
			}
			if len(pruned.InUse) > 0 {
				fmt.Fprintf(out, "in use: %s\n", strings.Join(pruned.InUse, ", "))
			}
			fmt.Fprintf(out, "%.1f MB freed\n", float64(pruned.Bytes)/1e6)
			return nil
		},
	}
	f := cmd.Flags()
	f.BoolVar(&all, "all", false, "every driver, and what was downloaded")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}
