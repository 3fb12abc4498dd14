package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/internal/build"
)

func version() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		Run:   func(cmd *cobra.Command, _ []string) { fmt.Fprintln(cmd.OutOrStdout(), versionLine()) },
	}
}

// versionLine has the versions of the program and of Go, and the platform.
func versionLine() string {
	return fmt.Sprintf("rmq-mcp %s %s/%s %s", build.Version(), runtime.GOOS, runtime.GOARCH, runtime.Version())
}
