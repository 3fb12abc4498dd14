package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/robustmq/rmq-mcp/clients"
)

// A CheckRow is what became of one SDK on one protocol.
type CheckRow struct {
	SDK      string  `json:"sdk"`
	Protocol string  `json:"protocol,omitempty"`
	State    string  `json:"state"` // ok, FAILED, not checked, or why it is not there: not installed, unsupported
	Reason   string  `json:"reason,omitempty"`
	TookS    float64 `json:"took_s"`
}

// States of a CheckRow, beside those of a clients.Status.
const (
	checkOK     = "ok"
	checkFailed = "FAILED"
	checkNot    = "not checked"
)

func (a *app) sdksCheck() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "check [SDK…]",
		Short: "Run every installed driver against a broker of our own",
		Long: "Starts brokers on this machine's loopback, and with each driver connects, subscribes, publishes a few messages\n" +
			"at each QoS, receives them and ends. Exit status: 1 if one failed, or one that was named is not installed;\n" +
			"2 if one could not be tried, because the broker for its protocol is not here.",
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			say := sayTo(out, asJSON)
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			rows, err := a.checkSDKs(ctx, args, func(r CheckRow) { printCheck(paintTo(say), say, r) })
			if err != nil {
				return err
			}
			if asJSON {
				if err := writeJSON(out, rows); err != nil {
					return err
				}
			}
			fmt.Fprintf(say, "\n%s\n", countChecks(rows))
			return exitOfChecks(rows, len(args) > 0)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func exitOfChecks(rows []CheckRow, named bool) error {
	count := func(states ...string) bool {
		return slices.ContainsFunc(rows, func(r CheckRow) bool { return slices.Contains(states, r.State) })
	}
	switch {
	case count(checkFailed), named && count(clients.StateNotInstalled, clients.StateUnsupported):
		return exit(1)
	case count(checkNot):
		return exit(exitUndecided)
	}
	return nil
}

// checkSDKs tries the drivers of SDKs, as many at a time as there are
// processors, and tells each row as it is known.
func (a *app) checkSDKs(ctx context.Context, names []string, tell func(CheckRow)) ([]CheckRow, error) {
	t, err := a.openTrial(ctx, names, nil)
	if err != nil {
		return nil, err
	}
	defer t.brokers.Close()

	var mu sync.Mutex
	var rows []CheckRow
	add := func(r CheckRow) {
		mu.Lock()
		defer mu.Unlock()
		rows = append(rows, r)
		tell(r)
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, s := range t.drivers {
		if !s.Ready() {
			add(CheckRow{SDK: s.String(), State: s.State, Reason: s.Missing})
			continue
		}
		for _, protocol := range s.Protocols {
			g.Go(func() error {
				add(t.check(ctx, s.SDK, protocol))
				return nil
			})
		}
	}
	g.Wait()
	return rows, ctx.Err()
}

// check tries one driver on one protocol.
func (t *trial) check(ctx context.Context, sdk clients.SDK, protocol string) CheckRow {
	return t.with(ctx, sdk, protocol, func(try clients.Trial) error { return clients.Check(ctx, try) })
}

// with uses one driver on one protocol, and answers what became of it.
func (t *trial) with(ctx context.Context, sdk clients.SDK, protocol string, use func(clients.Trial) error) CheckRow {
	row := CheckRow{SDK: sdk.String(), Protocol: protocol, State: checkOK}
	at, ok := t.brokers.targets[protocol]
	if !ok {
		row.State, row.Reason = checkNot, t.brokers.missing[protocol]
		return row
	}
	began := time.Now()
	program, err := clients.Provision(ctx, t.cache, t.argv, sdk, nil)
	if err == nil {
		err = use(clients.Trial{Program: program, SDK: sdk, Protocol: protocol, Target: at})
	}
	row.TookS = time.Since(began).Seconds()
	if err != nil {
		row.State, row.Reason = checkFailed, err.Error()
	}
	return row
}

func printCheck(p paint, w io.Writer, r CheckRow) {
	state := p.doubt(r.State)
	switch r.State {
	case checkOK:
		state = p.good(r.State)
	case checkFailed:
		state = p.bad(r.State)
	}
	fmt.Fprintf(w, "%-44s %-6s %s", r.SDK, r.Protocol, state)
	if r.TookS > 0 {
		fmt.Fprintf(w, " %s", p.faint(fmt.Sprintf("%.1f s", r.TookS)))
	}
	if r.Reason != "" {
		fmt.Fprintf(w, ": %s", r.Reason)
	}
	fmt.Fprintln(w)
}

// countChecks counts the rows of each state.
func countChecks(rows []CheckRow) string {
	var parts []string
	for _, state := range []string{checkOK, checkFailed, checkNot, clients.StateNotInstalled, clients.StateUnsupported} {
		n := 0
		for _, r := range rows {
			if r.State == state {
				n++
			}
		}
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return strings.Join(parts, ", ")
}
