package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/clients"
)

func (a *app) sdksLock() *cobra.Command {
	var source string
	cmd := &cobra.Command{
		Use:   "lock SDK…",
		Short: "Write the lock of a new version: its packages and their hashes",
		Long: "Asks the package index which packages an SDK of the catalogue takes, and writes them with their hashes into\n" +
			"the source tree of rmq-mcp, clients/drivers/…/locks/VERSION. clients/README.md has the other steps.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sdks, err := sdksNamed(args)
			if err != nil {
				return err
			}
			cache, err := a.cache()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			p := paintTo(out)
			for _, sdk := range sdks {
				if sdk.Builtin {
					continue // go.sum of rmq-mcp has it
				}
				file, err := clients.Lock(cmd.Context(), cache, source, sdk, func(text string) { fmt.Fprintln(out, p.faint(text)) })
				if err != nil {
					return err
				}
				fmt.Fprintln(out, "wrote", file)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&source, "source", ".", "`folder` of the source tree")
	return cmd
}
