package main

import (
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/selftest"
	"github.com/robustmq/rmq-mcp/internal/plant"
)

func (a *app) selftest() *cobra.Command {
	var o selftest.Options
	var asJSON, markdown bool
	cmd := &cobra.Command{
		Use:   "selftest",
		Short: "Test the judge with lying clients, planted defects and weak configurations",
		Long: "Runs a short scenario, each time with one lie of a client library, one defect planted before the embedded\n" +
			"broker, or a broker that is configured to keep less than it acknowledges and whose node dies, and looks whether\n" +
			"the verdict blames the right one of them, and no party if all is well.\n" +
			"With --sdk, --protocol or --endpoint it tries the defects of brokers alone: with other clients, before another broker.\n" +
			"A run in which the host was starved, or too busy to keep up the load, tells nothing and is made again, up to four times.\n" +
			"Exit status: 1 if any is wrong.",
		Example: "  rmq-mcp selftest\n  rmq-mcp selftest --only early --only wrong-ack\n" +
			"  rmq-mcp selftest --endpoint 127.0.0.1:1883 --sdk go,python --protocol mqtt3,mqtt5 --only drop-delivery,corrupt --every 200",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			rows, err := o.Rows()
			if err != nil {
				return err
			}
			runs, err := a.runner()
			if err != nil {
				return err
			}
			out := cmd.OutOrStdout()
			if err := o.Try(ctx, runs, sayTo(out, asJSON || markdown), rows); err != nil {
				return err
			}
			switch {
			case asJSON:
				err = writeJSON(out, rows)
			case markdown:
				_, err = io.WriteString(out, selftest.Table(rows))
			}
			tried := slices.ContainsFunc(rows, func(r selftest.Row) bool { return r.Lacks == "" })
			wrong := slices.ContainsFunc(rows, func(r selftest.Row) bool { return !r.Right && r.Lacks == "" })
			switch {
			case err == nil && !tried:
				return fmt.Errorf("selftest: nothing could be tried: %s", rows[0].Lacks)
			case err == nil && wrong:
				return exit(1)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&o.Only, "only", nil, "`name` of a lie or a defect; repeat it for more")
	f.Int64SliceVar(&o.Every, "every", []int64{plant.Every}, "`N`: a planted defect shows once in N packets that it can show in; repeat it for more")
	f.StringSliceVar(&o.SDKs, "sdk", nil, "client libraries in place of the scenario's: go, python@2.x, rust")
	f.StringSliceVar(&o.Protocols, "protocol", nil, "mqtt3, mqtt5 in place of the scenario's")
	f.StringArrayVar(&o.Endpoints, "endpoint", nil, "`host:port` of an external broker, to plant the defects before; repeat it for each")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	f.BoolVar(&markdown, "markdown", false, "print a table in Markdown")
	f.BoolVar(&o.Keep, "keep", false, "keep the runs in the state directory")
	f.IntVar(&o.Parallel, "parallel", max(4, 3*runtime.NumCPU()), fmt.Sprintf("how many runs are busy at a time; of others, that wait for what does not come, there are up to %d times as many", selftest.Waiting))
	return cmd
}
