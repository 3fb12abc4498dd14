package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/trials"
	"github.com/robustmq/rmq-mcp/clients"
)

// benchLeast is as short as a measurement may be.
const benchLeast = 100 * time.Millisecond

func (a *app) sdksBench() *cobra.Command {
	var asJSON bool
	var runFor time.Duration
	cmd := &cobra.Command{
		Use:   "bench [SDK…]",
		Short: "Measure how fast each installed driver publishes, and what the tap costs",
		Long: fmt.Sprintf("Measures drivers one after the other, on brokers on this machine's loopback: publishes acknowledged per second\n"+
			"(QoS 1, %d bytes, %d outstanding), and how long that takes from the call of a publish to its acknowledgement, then\n"+
			"that once more at half of the rate. Each time the driver has a client that is connected directly and one through\n"+
			"the wire tap, with every packet recorded as in an experiment, and they publish in turns of %s. The broker is\n"+
			"mosquitto for MQTT if it is installed, otherwise the embedded one for MQTT 3.1.1, and for mq9, which the\n"+
			"tap does not read. Figures are those of the machine too: let it do nothing else. Exit status: as of check.",
			clients.BenchPayload, clients.BenchWindow, clients.BenchTurn),
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if runFor < benchLeast || runFor > time.Minute {
				return fmt.Errorf("--for %s: give %s to 1m", runFor, benchLeast)
			}
			o, err := a.triedWith(args)
			if err != nil {
				return err
			}
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			d := newMatrixDisplay(os.Stderr)
			rows, err := trials.Bench(ctx, o, runFor, d.building, func(s trials.Speed) {
				var line strings.Builder
				printCheck(d.paint, &line, s.Row)
				d.say("%s", strings.TrimSuffix(line.String(), "\n"))
			})
			d.close()
			if len(rows) > 0 {
				show := printBench
				if asJSON {
					show = func(w io.Writer, rows []trials.Speed) error { return writeJSON(w, rows) }
				}
				err = errors.Join(err, show(cmd.OutOrStdout(), rows))
			}
			if err != nil {
				return err
			}
			return exitOfChecks(checksOf(rows), len(args) > 0)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.DurationVar(&runFor, "for", 2*time.Second, "how long each driver publishes, at each of two rates, with the tap and without")
	return cmd
}

func checksOf(rows []trials.Speed) (all []trials.Row) {
	for _, r := range rows {
		all = append(all, r.Row)
	}
	return all
}

// printBench prints a table of what was measured, what its columns are, and
// below it why the rest was not.
func printBench(w io.Writer, rows []trials.Speed) error {
	table := [][]string{{"SDK", "PROTOCOL", "PUBLISHES/S", "TAPPED", "MS P50/P99", "TAPPED", "HALF: MS P50/P99", "TAPPED"}}
	var brokers []string
	for _, r := range rows {
		if r.State != trials.OK {
			continue
		}
		brokers = append(brokers, r.Broker)
		full, half := r.Full, r.Half
		line := []string{r.SDK, r.Protocol, fmt.Sprintf("%.0f", full.Direct.PerS), "-", milliseconds(full.Direct), "-", milliseconds(half.Direct), "-"}
		if full.Tapped != nil {
			line[3] = fmt.Sprintf("%.0f (%s)", full.Tapped.PerS, change(full.Direct.PerS, full.Tapped.PerS))
			line[5] = fmt.Sprintf("%s (%s)", milliseconds(*full.Tapped), change(full.Direct.P50US, full.Tapped.P50US))
			line[7] = fmt.Sprintf("%s (%s)", milliseconds(*half.Tapped), change(half.Direct.P50US, half.Tapped.P50US))
		}
		table = append(table, line)
	}
	if len(brokers) > 0 {
		if err := printTable(w, table); err != nil {
			return err
		}
		slices.Sort(brokers)
		fmt.Fprintf(w, "\nQoS 1, %d bytes, at most %d outstanding, on %s. Times are from the call of a publish to its\n"+
			"acknowledgement; HALF: at half of the rate. (What the tap changes, of times the median.) -: the tap only reads MQTT.\n",
			clients.BenchPayload, clients.BenchWindow, strings.Join(slices.Compact(brokers), " and "))
	}
	for _, r := range rows {
		if r.State != trials.OK {
			printCheck(paintTo(w), w, r.Row)
		}
	}
	_, err := fmt.Fprintf(w, "\n%s\n", countChecks(checksOf(rows)))
	return err
}

func milliseconds(p clients.Pace) string {
	ms := func(us float64) string {
		if us >= 100_000 {
			return fmt.Sprintf("%.0f", us/1000)
		}
		return fmt.Sprintf("%.3g", us/1000)
	}
	return ms(p.P50US) + "/" + ms(p.P99US)
}

// change is how much larger b is than a.
func change(a, b float64) string { return fmt.Sprintf("%+.0f %%", (b/a-1)*100) }
