package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/tools"
)

func (a *app) code() *cobra.Command {
	var ask tools.CodeAsk
	var source string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "code RUN|FINDING --source DIR",
		Short: "Find the places in the broker's source that a run points at",
		Long: "Maps the panics, the warnings and the errors in a run's logs to file, line and function of the broker's source, and texts that\n" +
			"you name: errors, metrics, routes. First come panics, then what was written while the failure lasted, the rarest first.\n" +
			"The source is a directory, or a git repository, of which the version of the run's broker is read. Nothing is changed in it.",
		Example: "  rmq-mcp code latest --source ~/robustmq\n  rmq-mcp code robustmq-no-panic --source ~/robustmq --version v0.4.11 --text 'invalid key'",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if source == "" {
				return errors.New("code: name the broker's source with --source: a directory or a git repository")
			}
			dir, err := a.reading()
			if err != nil {
				return err
			}
			ask.ID = args[0]
			found, err := codeOf(dir, source, reports.Find)(cmd.Context(), ask)
			switch {
			case err != nil:
				return err
			case asJSON:
				return writeJSON(cmd.OutOrStdout(), found)
			}
			return printCode(cmd.OutOrStdout(), found)
		},
	}
	f := cmd.Flags()
	f.StringVar(&source, "source", "", "`directory` of the broker's source, or its git repository")
	f.StringVar(&ask.Version, "version", "", "git `reference` to read (default: the tag of the run's broker)")
	f.StringArrayVar(&ask.Texts, "text", nil, "a `text` to look for as well")
	f.IntVar(&ask.Most, "limit", 20, "most places to show")
	f.BoolVar(&asJSON, "json", false, "print JSON, with the source around each place")
	return cmd
}

// codeOf finds code in a source for what is stored in a state directory.
func codeOf(dir, source string, find finding.Finder) func(context.Context, tools.CodeAsk) (code.Places, error) {
	return func(ctx context.Context, ask tools.CodeAsk) (code.Places, error) {
		run, err := finding.RunOf(dir, ask.ID, find)
		if err != nil {
			return code.Places{}, err
		}
		return code.InRun(ctx, source, ask.Version, code.Request{Dir: run, Claim: ask.Claim, Texts: ask.Texts, Most: ask.Most})
	}
}

// printCode prints places with the line of source at each, for people.
func printCode(w io.Writer, found code.Places) error {
	for _, p := range found.Places {
		fmt.Fprintf(w, "%s:%d  %s\n", p.File, p.Line, p.Function)
		for _, l := range p.Around {
			if l.Number == p.Line {
				fmt.Fprintf(w, "    %s\n", strings.TrimSpace(l.Text))
			}
		}
		during, others := "", ""
		switch p.During {
		case code.During:
			during = ", while the failure lasted"
		case code.Elsewhen:
			during = ", not while the failure lasted"
		}
		if p.Others > 0 {
			others = fmt.Sprintf("; it fits %d other places as well", p.Others)
		}
		fmt.Fprintf(w, "    %s, %d times%s%s: %s %s\n    by %q\n", p.Kind, p.Count, during, others, p.From, p.Clue, p.Matched)
	}
	fmt.Fprintf(w, "%d places in %s", len(found.Places), found.Tree)
	if found.Left > 0 {
		fmt.Fprintf(w, ", and %d more (--limit)", found.Left)
	}
	fmt.Fprintln(w)
	if len(found.Unfound) > 0 {
		fmt.Fprintf(w, "Without a place:\n")
		for _, clue := range found.Unfound {
			fmt.Fprintf(w, "    %s\n", clue)
		}
	}
	for _, note := range found.Notes {
		fmt.Fprintln(w, plain.Line(note))
	}
	return nil
}
