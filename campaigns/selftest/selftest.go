// Package selftest tests the judge with runs whose culprit is known: lying client libraries, defects
// planted before a broker, and brokers configured to keep less than they acknowledge.
package selftest

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
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed scenarios/*.md
var documents embed.FS

// Scenarios of the self-test: without any disturbance, with one loss of all
// connections, with and without QoS 2, and with retained messages; with the death of a node; with many
// messages, for rare defects; with shared subscriptions, sessions that end, a
// stalled subscriber, and wills; and those of mq9.
const (
	steady        = "scenarios/steady.md"
	reconnect     = "scenarios/reconnect.md"
	reconnectOnce = "scenarios/reconnect_once.md"
	release       = "scenarios/release.md"
	register      = "scenarios/register.md"
	killed        = "scenarios/killed.md"
	power         = "scenarios/power.md"
	rare          = "scenarios/rare.md"
	registerRare  = "scenarios/register_rare.md"
	shared        = "scenarios/shared.md"
	expiry        = "scenarios/expiry.md"
	stall         = "scenarios/stall.md"
	wait          = "scenarios/wait.md"
	will          = "scenarios/will.md"
	mq9Steady     = "scenarios/mq9.md"
	mq9Mailbox    = "scenarios/mq9_mailbox.md"
)

// waits is the number of runs at a time for each busy one. A run whose messages are missing waits for
// them most of its time, and takes no processor.
const waits = 5

// tries is how often a row is run, at most, while the host is starved or does not
// keep up the load: such a run tells nothing of the judge.
const tries = 4

// Options say what is tried.
type Options struct {
	Only     []string // names of lies and defects; nil for all
	Every    []int64  // a planted defect shows once in so many packets, each from 1 to 1000
	Parallel int      // busy runs at a time; more of them wait for messages
	Keep     bool     // the runs stay in the state directory

	// In place of the scenario's: client libraries, protocols, and an external broker to plant the
	// defects before.
	SDKs, Protocols, Endpoints []string
}

// Waiting is how many times as many runs as [Options.Parallel] there are at most, with those that
// wait.
const Waiting = waits - 1

// Rows returns the rows to try.
func (o Options) Rows() ([]Row, error) {
	for _, n := range o.Every {
		if n < 1 || n > 1000 {
			return nil, fmt.Errorf("selftest: --every %d; from 1 to 1000: rarer ones are found in mutated histories, by go test ./judge/checker", n)
		}
	}
	rows, err := o.spread(allRows(o.Every))
	if err != nil {
		return nil, err
	}
	var names []string
	for _, r := range rows {
		if !slices.Contains(names, r.Name) {
			names = append(names, r.Name)
		}
	}
	for _, name := range o.Only {
		if !slices.Contains(names, name) {
			return nil, fmt.Errorf("selftest: no lie or defect %q; there are %s", name, strings.Join(names, ", "))
		}
	}
	if len(o.Only) > 0 {
		rows = slices.DeleteFunc(rows, func(r Row) bool { return !slices.Contains(o.Only, r.Name) })
	}
	return rows, nil
}

// Try makes the run of each row, in the state directory of the runner or in a temporary one, and
// fills in what came of it. Say gets a line for each.
func (o Options) Try(ctx context.Context, runner attempt.Runner, say io.Writer, rows []Row) error {
	state := runner.Dir
	if !o.Keep {
		dir, err := os.MkdirTemp("", "rmq-st-")
		if err != nil {
			return fmt.Errorf("make a directory for the runs: %w", err)
		}
		defer func() { keepWrong(say, dir, rows) }()
		if err := keeper.OpenState(dir); err != nil {
			return err
		}
		runner.Dir = dir
	}
	if len(o.SDKs) > 0 {
		if err := prepare(ctx, runner, say, state, rows); err != nil {
			return err
		}
	}
	host := experiment.Look(ctx, runner.Self)
	for i := range rows {
		rows[i].Lacks = cmp.Or(rows[i].Lacks, rows[i].lackedBy(host))
	}
	return tryRows(ctx, runner, say, rows, max(1, o.Parallel))
}

// keepWrong removes the runs of a directory but those of wrong rows, and says in which
// directory they are.
func keepWrong(say io.Writer, dir string, rows []Row) {
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
func prepare(ctx context.Context, runner attempt.Runner, say io.Writer, state string, rows []Row) error {
	cache := experiment.CacheDir(state)
	if dir := runner.Dir; dir != state {
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
	clients.Install(ctx, cache, runner.Self, sdks, func(text string) { fmt.Fprintln(say, text) }, func(i clients.Installation) {
		for r := range rows {
			if i.Err != nil && rows[r].SDK == i.SDK.String() {
				rows[r].Lacks = fmt.Sprintf("prepare the driver of %s: %v", i.SDK, i.Err)
			}
		}
	})
	return ctx.Err()
}

// tryRows runs each row, and fills in what came of it.
func tryRows(ctx context.Context, runner attempt.Runner, say io.Writer, rows []Row, parallel int) error {
	if err := os.CopyFS(runner.Dir, documents); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("write the scenarios: %w", err)
	}
	var printing sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	if len(rows) > 0 && len(rows[0].endpoints) > 0 { // one broker has all of them
		group.SetLimit(parallel)
	} else {
		group.SetLimit(waits * parallel)
	}
	busy := semaphore.NewWeighted(int64(parallel))
	for _, row := range longestFirst(rows) {
		if row.Lacks != "" {
			fmt.Fprintf(say, "–      %-6s %-25s not tried: %s\n", row.Who, row.name()+row.client(), row.Lacks)
			continue
		}
		group.Go(func() error {
			for range tries {
				if err := busy.Acquire(ctx, 1); err != nil {
					return err
				}
				idle := sync.OnceFunc(func() { busy.Release(1) })
				err := tryRow(ctx, runner, row, idle)
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
func longestFirst(rows []Row) (list []*Row) {
	for i := range rows {
		list = append(list, &rows[i])
	}
	slices.SortStableFunc(list, func(a, b *Row) int { return a.rank() - b.rank() })
	return list
}

// rank is small for long runs.
func (row *Row) rank() int {
	switch row.scenario {
	case register, registerRare, stall:
		return 2
	case steady, rare:
		return 1
	}
	return 0
}

// tryRow makes the run of a row, and calls idle when it does no more than wait.
func tryRow(ctx context.Context, runner attempt.Runner, row *Row, idle func()) error {
	start := keeper.Start{
		Scenario: filepath.Join(runner.Dir, row.scenario), Cluster: cluster.Config{Arm: []string{cluster.ArmTap}}, SDK: "go/liar@honest", Seed: 1,
		Caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "selftest", Args: map[string]any{"name": row.Name}},
	}
	switch {
	case row.SDK != "":
		start.SDK, start.Protocol = row.SDK, row.Protocol
	case row.Who == "client":
		start.SDK = "go/liar@" + row.Name
	case row.scenario == expiry, row.scenario == release: // the liar's library has no MQTT 5, and forgets messages that it answered by PUBREC
		start.SDK = ""
	case row.Who == contract.MQ9:
		start.SDK, start.Cluster.Arm = "", nil
	}
	start.Cluster.Flavor, start.Cluster.Settings, start.Cluster.Endpoints = row.flavor, row.settings, row.endpoints
	start.Cluster.Arm = cluster.WithArms(start.Cluster.Arm, row.arm...)
	if row.Every > 0 {
		start.Cluster.Plant = row.name()
	}
	client, err := runner.Start(ctx, start)
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
	summary, err := attempt.AwaitSummary(client.Info().Dir)
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
func (row *Row) landed(d *reports.RunDir) {
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
func (row *Row) take(s *reports.Summary) {
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
