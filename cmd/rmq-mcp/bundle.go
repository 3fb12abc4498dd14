package main

import (
	"bytes"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/internal/hosts"
	"github.com/robustmq/rmq-mcp/reports"
)

func bundle() *cobra.Command {
	var program, out string
	cmd := &cobra.Command{
		Use:   "bundle --out FILE.mcpb",
		Short: "Write an MCP bundle for Claude Desktop",
		Long: "Writes an MCP bundle of this program, or of another that was built from it for another system.\n" +
			"Claude Desktop installs it when it is opened.",
		Example: "  rmq-mcp bundle --out rmq-mcp.mcpb",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if program == "" {
				command, err := self()
				if err != nil {
					return err
				}
				program = command[0]
			}
			var content bytes.Buffer
			if err := hosts.Bundle(&content, program); err != nil {
				return err
			}
			if err := reports.WriteFile(out, content.Bytes()); err != nil {
				return fmt.Errorf("write the bundle: %w", err)
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s, %.1f MB\n", out, float64(content.Len())/1e6)
			return nil
		},
	}
	cmd.Flags().StringVar(&program, "program", "", "`file` of the program, built for another system; default this one")
	cmd.Flags().StringVar(&out, "out", "rmq-mcp.mcpb", "`file` to write")
	return cmd
}
