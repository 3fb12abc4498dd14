package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/catalog"
	"github.com/robustmq/rmq-mcp/campaigns/subject"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

func (a *app) list() *cobra.Command {
	var (
		asJSON, noFaults bool
		q                scenarios.Query
	)
	cmd := &cobra.Command{
		Use:       "list scenarios|claims|runs|plans|sdks|faults",
		Short:     "List scenarios, claims, runs, plans, client libraries and faults",
		ValidArgs: []string{"scenarios", "claims", "runs", "plans", "sdks", "faults"},
		Args:      cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, flag := range []string{"claim", "protocol", "flavor", "no-faults"} {
				if cmd.Flags().Changed(flag) && args[0] != "scenarios" {
					return fmt.Errorf("list %s: --%s is of scenarios", args[0], flag)
				}
			}
			if noFaults {
				q.Faults = new(bool)
			}
			rows, columns, err := a.listing(args[0], q)
			if err != nil {
				return err
			}
			if asJSON {
				return writeJSON(cmd.OutOrStdout(), rows)
			}
			return printTable(cmd.OutOrStdout(), columns)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	cmd.Flags().StringVar(&q.Claim, "claim", "", "scenarios judged by this claim")
	cmd.Flags().StringVar(&q.Protocol, "protocol", "", "scenarios that can be run with this protocol: "+strings.Join(contract.Protocols(), ", "))
	cmd.Flags().StringVar(&q.Flavor, "flavor", "", "scenarios that this broker supports: "+subject.Flavors())
	cmd.Flags().BoolVar(&noFaults, "no-faults", false, "scenarios that inject nothing")
	return cmd
}

// listing answers a list as data, and as the lines of a table.
func (a *app) listing(what string, q scenarios.Query) (rows any, table [][]string, err error) {
	switch what {
	case "scenarios":
		return listScenarios(q)
	case "claims":
		return listClaims()
	case "runs":
		return a.listRuns()
	case "plans":
		return a.listPlans()
	case "sdks":
		return listSDKs()
	}
	return listFaults()
}

func listScenarios(q scenarios.Query) (any, [][]string, error) {
	lines, err := scenarioLines(q)
	table := [][]string{{"SCENARIO", "PROTOCOL", "TYPE", "ABOUT", "WHAT"}}
	for _, s := range lines {
		table = append(table, []string{s.Name, s.Protocol, s.Type, fmt.Sprintf("%.0f s", s.Expected), s.Summary})
	}
	return lines, table, err
}

// runHeadline is how much of a run's headline its line shows; --json has it
// whole.
const runHeadline = 70

func (a *app) listRuns() (any, [][]string, error) {
	dir, err := a.reading()
	if err != nil {
		return nil, nil, err
	}
	rows, err := reports.List(dir, reports.Filter{})
	if rows == nil {
		rows = []reports.Row{}
	}
	table := [][]string{{"RUN", "STARTED", "SCENARIO", "FLAVOR", "SDK", "STATE", "WHAT"}}
	for _, r := range rows {
		table = append(table, []string{r.ID, r.Started.Local().Format("01-02 15:04"), r.Scenario, r.Flavor, r.SDK, string(r.State), plain.Cut(strings.TrimPrefix(r.Headline, string(r.State)+": "), runHeadline)})
	}
	return rows, table, err
}

func listClaims() (any, [][]string, error) {
	claims := catalog.Claims()
	table := [][]string{{"CLAIM", "WHOSE", "PROTOCOLS", "PROMISE"}}
	for _, c := range claims {
		table = append(table, []string{c.Name, string(cmp.Or(c.Of, verdict.Broker)), strings.Join(c.Protocols, ", "), fmt.Sprintf("%s (%s)", c.Text, c.Source)})
	}
	return claims, table, nil
}

func listSDKs() (any, [][]string, error) {
	sdks := clients.SDKs()
	table := [][]string{{"SDK", "PROTOCOLS", "DRIVER"}}
	for _, s := range sdks {
		driver := "built on first use"
		if s.Builtin {
			driver = "in this binary"
		}
		table = append(table, []string{s.String(), strings.Join(s.Protocols, ", "), driver})
	}
	return sdks, table, nil
}

func listFaults() (any, [][]string, error) {
	all := catalog.Faults()
	table := [][]string{{"FAULT", "TARGETS", "WHAT"}}
	for _, f := range all {
		table = append(table, []string{f.Type, strings.Join(f.Targets, ", "), f.Summary})
	}
	return all, table, nil
}

// printTable prints lines in columns. A terminal that is narrower gets the last column wrapped.
func printTable(w io.Writer, lines [][]string) error {
	s, left := sheetFor(w), 0
	for column := range len(lines[0]) - 1 {
		width := 0
		for _, line := range lines {
			width = max(width, len([]rune(plain.Line(line[column]))))
		}
		left += width + gap
	}
	table := tabwriter.NewWriter(w, 0, 0, gap, ' ', 0)
	for _, line := range lines {
		for i, cell := range line {
			line[i] = plain.Line(cell)
		}
		last := len(line) - 1
		for i, text := range wrap(line[last], s.width-left) {
			if i == 0 {
				fmt.Fprintln(table, strings.Join(append(line[:last:last], text), "\t"))
			} else {
				fmt.Fprintln(table, strings.Repeat("\t", last)+text)
			}
		}
	}
	return table.Flush()
}

// gap is the number of characters between two columns.
const gap = 2
