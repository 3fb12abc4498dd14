package main

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/plant"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed selftest*.md
var selftestScenarios embed.FS

// Scenarios of the self-test: without any disturbance, with one loss of all
// connections, with and without QoS 2, and with retained messages; with the death of a node; with many
// messages, for rare defects; with shared subscriptions, sessions that end, a
// stalled subscriber, and wills; and those of mq9.
const (
	selftestSteady       = "selftest.md"
	selftestReconnect    = "selftest_reconnect.md"
	selftestRelease      = "selftest_release.md"
	selftestRegister     = "selftest_register.md"
	selftestKilled       = "selftest_killed.md"
	selftestPower        = "selftest_power.md"
	selftestRare         = "selftest_rare.md"
	selftestRegisterRare = "selftest_register_rare.md"
	selftestShared       = "selftest_shared.md"
	selftestExpiry       = "selftest_expiry.md"
	selftestStall        = "selftest_stall.md"
	selftestWait         = "selftest_wait.md"
	selftestWill         = "selftest_will.md"
	selftestMQ9          = "selftest_mq9.md"
	selftestMQ9Mailbox   = "selftest_mq9_mailbox.md"
)

// selftestWaits bounds the runs that there are at a time, for each that is busy. A run
// whose messages are missing waits for them most of its time, and takes no processor.
const selftestWaits = 5

// selftestTries is how often a row is run, at most, while the host is starved or does not
// keep up the load: such a run tells nothing of the judge.
const selftestTries = 4

// selftesting are the flags of selftest.
type selftesting struct {
	only     []string
	asJSON   bool
	markdown bool
	keep     bool
	parallel int
	every    []int64

	sdks, protocols, endpoints []string
}

func (a *app) selftest() *cobra.Command {
	t := selftesting{}
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
			return a.testJudge(ctx, cmd.OutOrStdout(), t)
		},
	}
	f := cmd.Flags()
	f.StringSliceVar(&t.only, "only", nil, "`name` of a lie or a defect; repeat it for more")
	f.Int64SliceVar(&t.every, "every", []int64{plant.Every}, "`N`: a planted defect shows once in N packets that it can show in; repeat it for more")
	f.StringSliceVar(&t.sdks, "sdk", nil, "client libraries in place of the scenario's: go, python@2.x, rust")
	f.StringSliceVar(&t.protocols, "protocol", nil, "mqtt3, mqtt5 in place of the scenario's")
	f.StringArrayVar(&t.endpoints, "endpoint", nil, "`host:port` of an external broker, to plant the defects before; repeat it for each")
	f.BoolVar(&t.asJSON, "json", false, "print JSON")
	f.BoolVar(&t.markdown, "markdown", false, "print a table in Markdown")
	f.BoolVar(&t.keep, "keep", false, "keep the runs in the state directory")
	f.IntVar(&t.parallel, "parallel", max(4, 3*runtime.NumCPU()), fmt.Sprintf("how many runs are busy at a time; of others, that wait for what does not come, there are up to %d times as many", selftestWaits-1))
	return cmd
}

func (a *app) testJudge(ctx context.Context, out io.Writer, t selftesting) error {
	for _, n := range t.every {
		if n < 1 || n > 1000 {
			return fmt.Errorf("selftest: --every %d; from 1 to 1000: rarer ones are found in mutated histories, by go test ./judge/checker", n)
		}
	}
	rows, err := t.spread(selftestRows(t.every))
	if err != nil {
		return err
	}
	for _, name := range t.only {
		if !slices.ContainsFunc(rows, func(r SelftestRow) bool { return r.Name == name }) {
			var names []string
			for _, r := range rows {
				if !slices.Contains(names, r.Name) {
					names = append(names, r.Name)
				}
			}
			return fmt.Errorf("selftest: no lie or defect %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(t.only) > 0 {
		rows = slices.DeleteFunc(rows, func(r SelftestRow) bool { return !slices.Contains(t.only, r.Name) })
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	say := sayTo(out, t.asJSON || t.markdown)
	if !t.keep {
		if dir, err = os.MkdirTemp("", "rmq-st-"); err != nil {
			return fmt.Errorf("make a directory for the runs: %w", err)
		}
		defer func() { keepWrong(say, dir, rows) }()
		if err := keeper.OpenState(dir); err != nil {
			return err
		}
	}
	argv, err := self()
	if err != nil {
		return err
	}
	if len(t.sdks) > 0 {
		if err := a.prepare(ctx, say, dir, argv, rows); err != nil {
			return err
		}
	}
	host := experiment.Look(ctx, argv)
	for i := range rows {
		rows[i].Lacks = cmp.Or(rows[i].Lacks, rows[i].lackedBy(host))
	}
	if err := tryRows(ctx, say, dir, argv, rows, t.parallel); err != nil {
		return err
	}
	switch {
	case t.asJSON:
		err = writeJSON(out, rows)
	case t.markdown:
		_, err = io.WriteString(out, t.table(rows))
	}
	tried := slices.ContainsFunc(rows, func(r SelftestRow) bool { return r.Lacks == "" })
	wrong := slices.ContainsFunc(rows, func(r SelftestRow) bool { return !r.Right && r.Lacks == "" })
	switch {
	case err == nil && !tried:
		return fmt.Errorf("selftest: nothing could be tried: %s", rows[0].Lacks)
	case err == nil && wrong:
		return exit(1)
	}
	return err
}

// keepWrong removes the runs of a directory but those of rows that are wrong, and says
// where these are.
func keepWrong(say io.Writer, dir string, rows []SelftestRow) {
	wrong := false
	for _, row := range rows {
		if row.Dir == "" || row.Right {
			os.RemoveAll(row.Dir)
			continue
		}
		wrong = true
	}
	if !wrong {
		os.RemoveAll(dir)
		return
	}
	fmt.Fprintf(say, "The runs of the rows that are WRONG are kept in %s; look at them with rmq-mcp list --dir %[1]s\n", dir)
}

// prepare makes the drivers of all rows ready, in the cache of the state directory, which
// the runs use, too. A row whose driver cannot be made ready says so.
func (a *app) prepare(ctx context.Context, say io.Writer, dir string, argv []string, rows []SelftestRow) error {
	state, err := a.state()
	if err != nil {
		return err
	}
	cache := experiment.CacheDir(state)
	if dir != state {
		if err := errors.Join(os.MkdirAll(cache, 0o755), os.RemoveAll(experiment.CacheDir(dir)), os.Symlink(cache, experiment.CacheDir(dir))); err != nil {
			return fmt.Errorf("use the drivers in %s: %w", cache, err)
		}
	}
	var sdks []clients.SDK
	for _, row := range rows {
		if row.Lacks != "" || slices.ContainsFunc(sdks, func(s clients.SDK) bool { return s.String() == row.SDK }) {
			continue
		}
		sdk, err := clients.ResolveFor(row.SDK, row.Protocol)
		if err != nil {
			return err
		}
		sdks = append(sdks, sdk)
	}
	clients.Install(ctx, cache, argv, sdks, func(text string) { fmt.Fprintln(say, text) }, func(i clients.Installation) {
		for r := range rows {
			if i.Err != nil && rows[r].SDK == i.SDK.String() {
				rows[r].Lacks = fmt.Sprintf("prepare the driver of %s: %v", i.SDK, i.Err)
			}
		}
	})
	return ctx.Err()
}

// tryRows runs each row, and fills in what came of it.
func tryRows(ctx context.Context, say io.Writer, dir string, argv []string, rows []SelftestRow, parallel int) error {
	if err := os.CopyFS(dir, selftestScenarios); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the scenarios: %w", err)
	}
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	parallel = max(1, parallel)
	if len(rows) > 0 && len(rows[0].endpoints) > 0 { // one broker has all of them
		group.SetLimit(parallel)
	} else {
		group.SetLimit(selftestWaits * parallel)
	}
	busy := semaphore.NewWeighted(int64(parallel))
	for _, row := range longestFirst(rows) {
		if row.Lacks != "" {
			fmt.Fprintf(say, "–      %-6s %-25s not tried: %s\n", row.Who, row.name()+row.client(), row.Lacks)
			continue
		}
		group.Go(func() error {
			for range selftestTries {
				if err := busy.Acquire(ctx, 1); err != nil {
					return err
				}
				idle := sync.OnceFunc(func() { busy.Release(1) })
				err := tryRow(ctx, dir, argv, row, idle)
				idle()
				if err != nil {
					return fmt.Errorf("%s %s: %w", row.Who, row.Name, err)
				}
				if !row.starved {
					break
				}
			}
			printing.Lock()
			defer printing.Unlock()
			mark := "right"
			if !row.Right {
				mark = "WRONG"
			}
			fmt.Fprintf(say, "%s  %-6s %-25s %s, %s%s\n", mark, row.Who, row.name()+row.client(), row.State, blamed(row.Blame), row.Wrong)
			return nil
		})
	}
	return group.Wait()
}

// longestFirst returns the rows in the order of their runs. Rows that wait long
// for missing messages are not left for the end.
func longestFirst(rows []SelftestRow) (list []*SelftestRow) {
	for i := range rows {
		list = append(list, &rows[i])
	}
	slices.SortStableFunc(list, func(a, b *SelftestRow) int { return a.rank() - b.rank() })
	return list
}

// rank is small where a run takes long.
func (row *SelftestRow) rank() int {
	switch row.scenario {
	case selftestRegister, selftestRegisterRare, selftestStall:
		return 2
	case selftestSteady, selftestRare:
		return 1
	}
	return 0
}

// tryRow makes the run of a row, and calls idle when it does no more than wait.
func tryRow(ctx context.Context, dir string, argv []string, row *SelftestRow, idle func()) error {
	start := keeper.Start{
		Scenario: filepath.Join(dir, row.scenario), Cluster: cluster.Config{Arm: []string{cluster.ArmTap}}, SDK: "go/liar@honest", Seed: 1,
		Caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "selftest", Args: map[string]any{"name": row.Name}},
	}
	switch {
	case row.SDK != "":
		start.SDK, start.Protocol = row.SDK, row.Protocol
	case row.Who == "client":
		start.SDK = "go/liar@" + row.Name
	case row.scenario == selftestExpiry: // which the liar does not speak
		start.SDK = ""
	case row.Who == "mq9":
		start.SDK, start.Cluster.Arm = "", nil
	}
	start.Cluster.Flavor, start.Cluster.Settings, start.Cluster.Endpoints = row.flavor, row.settings, row.endpoints
	start.Cluster.Arm = cluster.WithArms(start.Cluster.Arm, row.arm...)
	if row.Every > 0 {
		start.Cluster.Plant = row.name()
	}
	client, err := launch(ctx, dir, argv, start, nil)
	if err != nil {
		return err
	}
	defer client.Close()
	waiting := func(p keeper.Progress) {
		if p.Phase == history.PhaseDrain {
			idle()
		}
	}
	if err := client.Watch(ctx, waiting); err != nil && !errors.Is(err, keeper.ErrGone) {
		return err
	}
	summary, err := judged(client.Info().Dir)
	if err != nil {
		return err
	}
	row.take(summary)
	d, err := reports.Open(summary.Dir)
	if err != nil {
		return err
	}
	_, found, err := d.Judge()
	if err != nil {
		return err
	}
	row.Shown = found.Coverage.PlantShown
	row.starved = found.Coverage.HostStarvedS > verdict.MaxStarvedS || !row.Right && slices.ContainsFunc(d.Shortfalls(found), func(s verdict.Shortfall) bool { return s.Kind == verdict.Underload })
	row.landed(d)
	return nil
}

// landed looks whether the faults of a run were there at all: a row may be right
// about what it found without them.
func (row *SelftestRow) landed(d *reports.RunDir) {
	for _, l := range d.Landings {
		if state, why, _ := verdict.DecideLanding(l); state == history.NotLanded {
			row.Right = false
			row.Wrong += fmt.Sprintf("; %s (%s) did not land: %s", l.Fault, l.Type, strings.Join(why, "; "))
		}
	}
}

// take checks whether a run blamed the right party, for the whole failure and
// for each violation by itself. A client library that was asked for may have
// known small defects of its own. Its own claims show them beside the planted
// defect.
func (row *SelftestRow) take(s *reports.Summary) {
	v := s.Verdict
	row.State, row.Blame, row.Dir, row.Failed, row.Violations, row.Wrong = v.State, v.Blame, s.Dir, nil, map[string]int64{}, ""
	accused, other := map[verdict.Party]int{}, ""
	for _, r := range v.Results {
		if r.Status != verdict.Fail {
			continue
		}
		row.Failed = append(row.Failed, r.Claim.Name)
		row.Violations[r.Claim.Name] = r.Found()
		if r.Claim.Of == verdict.SDK && r.Claim.Severity >= verdict.P2 && campaigns.KnownOf(row.SDK, row.Protocol, r.Claim.Name) {
			continue
		}
		for _, a := range r.Anomalies {
			accused[a.Blame]++
			if a.Blame != row.Want && other == "" {
				other = "; not blamed on it: " + a.Text
			}
		}
	}
	party, _, _ := strings.Cut(v.Blame, ":")
	missed := ""
	for _, claim := range row.Claims {
		if !slices.Contains(row.Failed, claim) {
			missed = claim
		}
	}
	switch {
	case missed != "":
		row.Wrong = fmt.Sprintf("; %s is to fail", missed)
	case row.Want == "" && len(row.Claims) > 0: // no wire tells whom to blame
	case verdict.Party(party) != row.Want:
		row.Wrong = fmt.Sprintf("; to blame is %s%s", orNobody(row.Want), other)
	case row.Want == "" && v.State.ExitCode() != 0:
		row.Wrong = "; it should have passed: " + v.Headline
	case accused[row.Want] != sum(accused):
		row.Wrong = fmt.Sprintf("; of %d violations %d are blamed on it%s", sum(accused), accused[row.Want], other)
	}
	row.Right = row.Wrong == ""
}

func sum(counts map[verdict.Party]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}
