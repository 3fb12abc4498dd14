package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

func (a *app) judge() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "judge RUN...",
		Short: "Judge stored runs again, from their records",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, refs []string) error {
			dirs, err := a.findAll(refs)
			if err != nil {
				return err
			}
			attempts, err := campaigns.Attempts(dirs)
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
				s := sheetFor(cmd.OutOrStdout())
				s.whole(v)
				if err := s.repetitions(dirs); err != nil {
					return err
				}
			}
			return exitFor(v.State)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the verdict as JSON")
	return cmd
}

// findAll returns the directories of runs.
func (a *app) findAll(refs []string) (dirs []string, err error) {
	for _, ref := range refs {
		dir, err := a.find(ref)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, dir)
	}
	return dirs, nil
}

// repetitions says what one run shows together with its repetitions.
func (s sheet) repetitions(dirs []string) error {
	if len(dirs) > 1 {
		return nil
	}
	series, err := reports.Dir(dirs[0]).Series()
	if err != nil || series == nil || len(series.Runs) < 2 {
		return err
	}
	s.row(s.faint, labels, "series", fmt.Sprintf("this is the run alone; with its repetitions it is %s: rmq-mcp judge %s", series.State, strings.Join(series.Runs, " ")))
	return nil
}

// exitFor is nil for a pass.
func exitFor(s verdict.State) error {
	if code := s.ExitCode(); code != 0 {
		return exit(code)
	}
	return nil
}
