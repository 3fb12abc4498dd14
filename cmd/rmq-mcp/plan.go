package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

func (a *app) plan() *cobra.Command {
	var limits string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Freeze a test plan, run it and show its result",
		Long: "Lints a test plan and freezes it under its hash: every gap is named, with what to write instead. Runs made afterwards count\n" +
			"as its attempts by what they recorded. A later change of the plan or of a scenario is a mismatch; the frozen one counts.\n" +
			"PLAN is its name, the beginning of its hash, its file, or latest.\n" +
			"Exit status of status, headline and run: 0 DONE, 1 FAIL, 2 something is open.",
		Example: "  rmq-mcp plan example > plan.md\n  rmq-mcp plan plan.md\n  rmq-mcp plan run\n  rmq-mcp plan headline",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.freezePlan(cmd.Context(), cmd.OutOrStdout(), args[0], limits, asJSON)
		},
	}
	cmd.Flags().StringVar(&limits, "envelope", "", "YAML `file` with the limits that the plan has to keep within")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.AddCommand(a.planStatus(), a.planHeadline(), a.planRun(), &cobra.Command{
		Use: "example", Short: "Print an example plan that explains every field", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), plan.Example)
			return err
		},
	})
	return cmd
}

func (a *app) freezePlan(ctx context.Context, out io.Writer, name, limits string, asJSON bool) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return fmt.Errorf("read plan: %w; `rmq-mcp plan example` shows one, `rmq-mcp list plans` those that are frozen", err)
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return fmt.Errorf("find the plan's file: %w", err)
	}
	var within *envelope.Envelope
	if limits != "" {
		e, err := envelope.Read(limits, dir)
		if err != nil {
			return err
		}
		within = &e
	}
	caller := keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "plan", Args: map[string]any{"file": file}}
	r, err := plan.SiteOf(file, within).Freeze(ctx, dir, text, file, caller)
	if err != nil {
		return err
	}
	s, err := r.Look(dir)
	if err != nil {
		return err
	}
	if asJSON {
		return writeJSON(out, s)
	}
	printPlan(paintTo(out), out, s)
	return nil
}

func (a *app) planStatus() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "status [PLAN]",
		Short: "Show the result of each scenario of a frozen plan",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.lookAtPlan(args)
			if err != nil {
				return err
			}
			if asJSON {
				err = writeJSON(cmd.OutOrStdout(), s)
			} else {
				printPlan(paintTo(cmd.OutOrStdout()), cmd.OutOrStdout(), s)
			}
			if err == nil {
				err = exitOf(s)
			}
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func (a *app) planHeadline() *cobra.Command {
	return &cobra.Command{
		Use:   "headline [PLAN]",
		Short: "Print the result of a frozen plan in one sentence",
		Args:  cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := a.lookAtPlan(args)
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), s.Headline)
			return exitOf(s)
		},
	}
}

// lookAtPlan answers what became of the plan that a person means.
func (a *app) lookAtPlan(args []string) (s plan.Status, err error) {
	dir, err := a.state()
	if err != nil {
		return s, err
	}
	r, err := findPlan(dir, planRef(args))
	if err != nil {
		return s, err
	}
	return r.Look(dir)
}

func planRef(args []string) string { return append(args, "latest")[0] }

// findPlan finds a frozen plan also by the file that it was written in.
func findPlan(dir, ref string) (*plan.Record, error) {
	if !strings.HasSuffix(ref, ".md") {
		return plan.Find(dir, ref)
	}
	text, err := os.ReadFile(ref)
	if err != nil {
		return nil, fmt.Errorf("read plan: %w", err)
	}
	p, err := plan.Parse(text)
	if err != nil {
		return nil, err
	}
	r, err := plan.Named(dir, p.Name)
	if err == nil && r == nil {
		err = fmt.Errorf("plan %s is not frozen; `rmq-mcp plan %s` freezes it", p.Name, ref)
	}
	if err != nil {
		return nil, err
	}
	r.File, err = filepath.Abs(ref)
	return r, err
}

// exitOf is nil for a plan that is done.
func exitOf(s plan.Status) error {
	if code := s.Outcome.ExitCode(); code != 0 {
		return exit(code)
	}
	return nil
}
