package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/experiment"
)

func (a *app) sdks() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sdks",
		Short: "List, install, check, measure and remove client libraries",
		Long: "Every SDK of the catalogue has a driver, a small program in its own language. It is built below the state\n" +
			"directory when it is first used, from packages with known hashes; `sdks install` does that ahead. SDK is\n" +
			"a language, a library, or one version: python, python/paho-mqtt, python/paho-mqtt@1.6.1, python@1.x, js@latest.",
		Args: unknown,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.sdksList(), a.sdksInstall(), a.sdksCheck(), a.sdksBench(), a.sdksPrune(), a.sdksLock())
	return cmd
}

// cache is where drivers are built.
func (a *app) cache() (string, error) {
	dir, err := a.state()
	if err != nil {
		return "", err
	}
	return experiment.CacheDir(dir), nil
}

// sdksNamed are the SDKs that a person named, each once; all of them where
// nothing is named.
func sdksNamed(names []string) ([]clients.SDK, error) {
	if len(names) == 0 {
		return clients.SDKs(), nil
	}
	var all []clients.SDK
	seen := map[string]bool{}
	for _, name := range names {
		found, err := clients.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		for _, sdk := range found {
			if !seen[sdk.String()] {
				seen[sdk.String()] = true
				all = append(all, sdk)
			}
		}
	}
	return all, nil
}

func (a *app) sdksList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [SDK…]",
		Args:  cobra.ArbitraryArgs,
		Short: "List client libraries, and whether this machine has them",
		RunE: func(cmd *cobra.Command, args []string) error {
			sdks, err := sdksNamed(args)
			if err != nil {
				return err
			}
			cache, err := a.cache()
			if err != nil {
				return err
			}
			all := clients.Look(cmd.Context(), cache, sdks)
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), all)
			}
			return printSDKs(cmd.OutOrStdout(), all)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printSDKs prints a table, and below it why some are unsupported, each reason
// once.
func printSDKs(w io.Writer, all []clients.Status) error {
	table := [][]string{{"LANGUAGE", "PACKAGE", "VERSION", "PROTOCOLS", "TRANSPORTS", "STATE", "CANNOT"}}
	var reasons []string
	for _, s := range all {
		state := s.State
		if s.Missing != "" {
			at := slices.Index(reasons, s.Missing)
			if at < 0 {
				at, reasons = len(reasons), append(reasons, s.Missing)
			}
			state += fmt.Sprintf(" (%d)", at+1)
		}
		table = append(table, []string{
			s.Lang, s.Package, s.Version, strings.Join(s.Protocols, ", "),
			strings.Join(append([]string{"tcp"}, s.Transports...), ", "), state, strings.Join(s.Cannot, ", "),
		})
	}
	if err := printTable(w, table); err != nil {
		return err
	}
	for i, reason := range reasons {
		fmt.Fprintf(w, "(%d) %s\n", i+1, reason)
	}
	return nil
}
