package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/robustmq/rmq-mcp/campaigns/subject"
)

// groupFlags has the help of root and of all commands below show flags by their headings.
func groupFlags(root *cobra.Command) {
	cobra.AddTemplateFunc("flagGroups", flagGroups)
	template := root.UsageTemplate()
	const all = "Flags:\n{{.LocalFlags.FlagUsages | trimTrailingWhitespaces}}"
	if !strings.Contains(template, all) {
		panic("the usage template of cobra has changed")
	}
	root.SetUsageTemplate(strings.Replace(template, all, "{{flagGroups .LocalFlags}}", 1))
}

func flagGroups(flags *pflag.FlagSet) string {
	var headings []string
	groups := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		heading := strings.Join(f.Annotations[subject.Group], "")
		if groups[heading] == nil {
			headings, groups[heading] = append(headings, heading), pflag.NewFlagSet("", pflag.ContinueOnError)
		}
		groups[heading].AddFlag(f)
	})
	var text strings.Builder
	if own := groups[""]; own != nil {
		fmt.Fprintf(&text, "Flags:\n%s", own.FlagUsages())
	}
	for _, heading := range headings {
		if heading != "" {
			fmt.Fprintf(&text, "\n%s:\n%s", heading, groups[heading].FlagUsages())
		}
	}
	return strings.TrimRight(text.String(), "\n")
}
