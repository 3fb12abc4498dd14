package main

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/internal/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) judge() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "judge RUN...",
		Short: "Judge again, from what was recorded; several runs are a series",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			attempts, err := a.judgeAll(refs)
			if err != nil {
				return err
			}
			v := attempts[0].Verdict
			if len(attempts) > 1 {
				v = verdict.Series(attempts)
			}
			if asJSON {
				if err := writeJSON(cmd.OutOrStdout(), v); err != nil {
					return err
				}
			} else {
				printVerdict(paintFor(os.Stdout), cmd.OutOrStdout(), v)
			}
			return exitFor(v.State)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

// judgeAll judges each run by its evidence alone; nothing is written.
func (a *app) judgeAll(refs []string) ([]verdict.Attempt, error) {
	dir, err := filepath.Abs(a.dir)
	if err != nil {
		return nil, err
	}
	var attempts []verdict.Attempt
	for _, ref := range refs {
		run, err := reports.Find(dir, ref)
		if err != nil {
			return nil, err
		}
		attempt, err := judgeRun(run)
		if err != nil {
			return nil, err
		}
		attempts = append(attempts, attempt)
	}
	return attempts, nil
}

func judgeRun(dir string) (verdict.Attempt, error) {
	v, _, err := reports.Judge(dir)
	if err != nil {
		return verdict.Attempt{}, err
	}
	d, err := reports.Open(dir)
	if err != nil {
		return verdict.Attempt{}, err
	}
	attempt := verdict.Attempt{Seed: d.Run.Seed, Verdict: v}
	if seal, err := reports.ReadSeal(dir); err == nil {
		attempt.Root = seal.Root
	}
	return attempt, nil
}

// exitFor is nil for a pass.
func exitFor(s verdict.State) error {
	if code := s.ExitCode(); code != 0 {
		return exit(code)
	}
	return nil
}
