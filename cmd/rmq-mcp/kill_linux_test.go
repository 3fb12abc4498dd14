package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/history"
	"github.com/robustmq/rmq-mcp/internal/journal"
	"github.com/robustmq/rmq-mcp/internal/keeper"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// What is promised.
const (
	leftBound = 10 * time.Second // from the keeper's death until nothing is left
	healBound = 5 * time.Second  // from the death of the last server until what was explored by hand runs again
	grace     = 2 * time.Second  // as these servers are started
	endBound  = 2 * time.Minute  // until a scenario, or what was stopped, is over
)

// TestKill kills parts of real experiments at random moments of their lives:
// nothing is left, everything is healed, and what was recorded is readable.
// RMQ_KILL_ROUNDS is the number of rounds for each kind and user.
func TestKill(t *testing.T) {
	if testing.Short() {
		t.Skip("it runs clusters")
	}
	t.Parallel()
	seed := killSeed(t)
	for name, user := range users(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const together = 2
			labs := make([]*lab, together)
			for i := range labs {
				labs[i] = newLab(t, user, i > 0)
			}
			needNamespaces(t, labs[0])
			rounds := killRounds(seed, name)
			var all sync.WaitGroup
			for _, l := range labs {
				all.Go(func() {
					for r := range rounds {
						err := r.play(t.Context(), l)
						for err == nil && r.wasLate() {
							t.Logf("too late, again: %s: %s", r, r.outcome)
							r.moment, r.judging = r.moment/2, false
							err = r.play(t.Context(), l)
						}
						if err != nil {
							t.Errorf("RMQ_KILL_SEED=%d %s: %v%s", seed, r, err, l.keeperLogs(r.started))
							l.kill(l.processes())
						}
						t.Logf("%s: %s", r, r.outcome)
					}
				})
			}
			all.Wait()
		})
	}
}

// killRounds are the rounds of one user, in the order in which they begin.
func killRounds(seed uint64, user string) <-chan *round {
	name := fnv.New64a()
	name.Write([]byte(user))
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	rounds := make(chan *round)
	go func() {
		defer close(rounds)
		for n := range killsPerKind() {
			for _, kind := range killKinds() {
				rounds <- newRound(n, kind, random)
			}
		}
	}()
	return rounds
}

// killKinds are the roles that are killed together.
func killKinds() [][]string {
	return [][]string{{"server"}, {"keeper"}, {"guard"}, {"guard", "keeper"}, {"server", "keeper"}}
}

const defaultRounds = 2 // 20 in all: five kinds, two users

func killsPerKind() int {
	if n, err := strconv.Atoi(os.Getenv("RMQ_KILL_ROUNDS")); err == nil {
		return n
	}
	return defaultRounds
}

func killSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("RMQ_KILL_SEED")
	if text == "" {
		return rand.Uint64()
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// A round is one experiment that is killed.
type round struct {
	number   int
	kills    []string
	how      string // run, serve, by hand
	scenario string
	judging  bool // the moment counts from when judging begins, else from when all were seen
	moment   time.Duration
	started  time.Time
	dead     []string // the roles that were there to be killed
	outcome  string
}

func newRound(number int, kills []string, random *rand.Rand) *round {
	r := &round{number: number, kills: kills}
	// What lasts: seconds of a whole experiment, or of setting one up by hand.
	length := map[string]time.Duration{"no-fault.md": 5 * time.Second, "one-node.md": 10 * time.Second, "three-nodes.md": 15 * time.Second}
	names := slices.Sorted(maps.Keys(length))
	r.how = []string{"run", "run", "serve", "by hand", "by hand"}[random.IntN(5)]
	r.scenario = append(names, "one-node.md", "one-node.md")[random.IntN(5)]
	span := length[r.scenario]
	if r.how != "run" {
		span = 8 * time.Second
	}
	if r.how == "serve" {
		r.scenario = "mqtt/persistent-session" // a server runs those of the library
	}
	switch random.IntN(6) {
	case 0:
		span = 500 * time.Millisecond // where most things begin
	case 1:
		r.judging = r.how != "by hand"
		span = 60 * time.Millisecond
	}
	r.moment = time.Duration(random.Int64N(int64(span)))
	return r
}

func (r *round) String() string {
	since := "after"
	if r.judging {
		since = "judging since"
	}
	return fmt.Sprintf("round %d: %s of %s (%s) killed %s %v", r.number, strings.Join(r.kills, "+"), r.how, r.scenario, since, r.moment.Round(time.Millisecond))
}

func (r *round) killed(role string) bool { return slices.Contains(r.dead, role) }

// play starts an experiment, kills, and answers what of the promise did not
// hold.
func (r *round) play(ctx context.Context, l *lab) error {
	r.started, r.dead = time.Now(), nil
	before := l.runs()
	end, err := r.start(ctx, l)
	if err != nil {
		return err
	}
	var errs []error
	errs = append(errs, r.strike(l))
	if r.killed("keeper") || r.killed("guard") {
		errs = append(errs, await(leftBound, func() string { return prefixed("still there: ", l.left()) }))
	} else if len(r.dead) > 0 {
		errs = append(errs, r.runsOn(l))
	}
	code := end()
	// Whatever was killed too late has ended by itself.
	errs = append(errs, await(endBound, func() string { return prefixed("not over: ", l.left()) }))
	if r.killed("guard") {
		// Who takes care of a dead keeper is dead: the next command does it.
		if out, err := l.command("list", "runs").CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("list runs: %w: %s", err, out))
		}
	}
	errs = append(errs, await(leftBound, func() string { return prefixed("still noted: ", l.noted()) }))
	var states []string
	for _, id := range l.runs() {
		if !slices.Contains(before, id) {
			state, err := r.check(l, id)
			states, errs = append(states, state), append(errs, err)
		}
	}
	r.outcome = fmt.Sprintf("killed %v, exit %d, %s", r.dead, code, strings.Join(states, " "))
	if code == 0 && r.how == "run" && slices.ContainsFunc(states, func(s string) bool { return !strings.HasPrefix(s, "PASS") }) {
		errs = append(errs, errors.New("run exits 0 without a pass"))
	}
	return errors.Join(errs...)
}

func prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// wasLate reports whether some of those to be killed had ended by themselves.
func (r *round) wasLate() bool { return len(r.dead) < len(r.kills) }

// start starts a server, or a terminal, that starts an experiment. End ends it
// in order and answers its exit code.
func (r *round) start(ctx context.Context, l *lab) (end func() int, err error) {
	if r.how == "run" {
		cmd := l.command("run", filepath.Join(l.base, r.scenario))
		out, err := os.Create(filepath.Join(l.base, "run.out"))
		if err != nil {
			return nil, err
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() int { cmd.Wait(); return cmd.ProcessState.ExitCode() }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := l.command("serve", "--grace", grace.String())
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			return // it was killed before
		}
		defer session.Close()
		r.drive(ctx, session)
		<-ctx.Done()
	}()
	return func() int {
		cancel()
		<-done
		if cmd.ProcessState == nil {
			return 0
		}
		return cmd.ProcessState.ExitCode()
	}, nil
}

// drive is what an agent does. Any call may fail: something of what it needs
// is being killed.
func (r *round) drive(ctx context.Context, session *mcp.ClientSession) {
	call := func(tool string, args map[string]any) {
		session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	}
	if r.how == "serve" {
		call("run_scenario", map[string]any{"scenario": r.scenario, "nodes": 1, "wait_s": 45})
		return
	}
	nodes := 1
	if r.scenario == "three-nodes.md" {
		nodes = 3
	}
	call("cluster_start", map[string]any{"nodes": nodes, "config": map[string]any{"flavor": "reference"}, "wait_s": 45})
	call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/persistent-session", "wait_s": 0})
	if r.scenario == "no-fault.md" {
		return
	}
	call("inject_fault", map[string]any{"type": "pause", "target": "node-1", "params": map[string]any{"duration_s": 120}})
	if nodes == 3 {
		call("inject_fault", map[string]any{"type": "kill", "target": "node-2", "params": map[string]any{"duration_s": 120}})
	}
}

// strike waits until all of those are there that are to be killed, and for the
// moment, and kills what is there of them. An experiment may be over by then.
func (r *round) strike(l *lab) error {
	var names []string
	for _, role := range r.kills {
		if role == "server" {
			role = "serve"
			if r.how == "run" {
				role = "run"
			}
		}
		names = append(names, role)
	}
	err := await(endBound, func() string {
		for _, name := range names {
			if len(l.processes(name)) == 0 {
				return fmt.Sprintf("no %s among %v", name, l.processes())
			}
		}
		return ""
	})
	if r.judging {
		err = errors.Join(err, await(endBound, func() string {
			logs, _ := filepath.Glob(filepath.Join(l.dir, "runs", "*", "keeper.log"))
			if len(l.processes("keeper")) == 0 || slices.ContainsFunc(logs, func(log string) bool { return r.says(log, "msg=judge") }) {
				return ""
			}
			return "not judging"
		}))
	}
	time.Sleep(r.moment) // the random moment; nothing waits for it
	victims := l.processes(names...)
	l.kill(victims)
	for _, p := range victims {
		r.dead = append(r.dead, p.role)
	}
	return err
}

// says reports whether a log of this round holds a text.
func (r *round) says(log, text string) bool {
	info, err := os.Stat(log)
	if err != nil || info.ModTime().Before(r.started) {
		return false
	}
	all, err := os.ReadFile(log)
	return err == nil && bytes.Contains(all, []byte(text))
}

// runsOn checks what becomes of an experiment whose server is dead: a scenario
// runs to its end; a cluster explored by hand is healed at once, and stopped.
func (r *round) runsOn(l *lab) error {
	if r.how != "by hand" {
		return nil
	}
	frozen := func() string {
		var names []string
		for _, p := range l.processes("node") {
			if p.state == "T" {
				names = append(names, p.String())
			}
		}
		return prefixed("frozen: ", strings.Join(names, ", "))
	}
	err := await(healBound, frozen)
	// And nothing freezes it again.
	return errors.Join(err, await(endBound, func() string {
		if why := frozen(); why != "" && err == nil {
			err = errors.New("later: " + why)
		}
		return prefixed("not stopped: ", l.left())
	}), err)
}

// check reads a run as a person would, and answers its state.
func (r *round) check(l *lab, id string) (state string, err error) {
	dir := filepath.Join(l.dir, "runs", id)
	if _, err := os.Stat(filepath.Join(dir, reports.EvidenceDir)); errors.Is(err, fs.ErrNotExist) {
		return "never began", notListed(l, id)
	}
	var judged struct{ State string }
	out, err := l.command("judge", id, "--json").Output()
	if code := exitCode(err); code < 0 || code > 2 {
		return "", fmt.Errorf("judge %s: exit %d: %s", id, code, stderrOf(err))
	}
	if err := json.Unmarshal(out, &judged); err != nil {
		return "", fmt.Errorf("judge %s: %w", id, err)
	}
	if out, err := l.command("verify", id).CombinedOutput(); err != nil {
		return judged.State, fmt.Errorf("verify %s: %w: %s", id, err, out)
	}
	if err := listed(l, id, judged.State); err != nil {
		return judged.State, err
	}
	return judged.State, errors.Join(r.honest(dir, judged.State), healed(dir), whole(dir))
}

// whole says what of a run directory was half written, and what is no record.
func whole(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if name := d.Name(); strings.HasPrefix(name, ".") && name != ".recover" || name == reports.NodesDir {
			return errors.Join(err, fmt.Errorf("%s is left", path))
		}
		return err
	})
}

// honest says whether a run that was cut short passes for a whole one.
func (r *round) honest(dir, state string) error {
	d, err := reports.Open(dir)
	if err != nil {
		return err
	}
	finished, err := ended(dir)
	if err != nil {
		return err
	}
	switch {
	case !finished && strings.HasPrefix(state, "PASS"):
		return fmt.Errorf("%s: cut short, and %s", dir, state)
	case !finished && len(d.Harness) == 0:
		return fmt.Errorf("%s: cut short, and nobody says so", dir)
	case !finished && !r.killed("keeper") && !r.killed("guard"):
		return fmt.Errorf("%s: it ended with its server: %v", dir, d.Harness)
	}
	if finished {
		for _, landing := range d.Landings {
			if landing.Healed != history.HealVerified {
				return fmt.Errorf("%s: %s of %v: %s", dir, landing.Type, landing.Nodes, landing.Healed)
			}
		}
	}
	return nil
}

// ended says whether a run came to its end in order.
func ended(dir string) (bool, error) {
	entries, err := journal.Read(filepath.Join(dir, reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(entries, func(e journal.Entry) bool { return e.Kind == "end" }), nil
}

// healed says whether any fault of a run is still to be undone.
func healed(dir string) error {
	entries, err := journal.Read(filepath.Join(dir, reports.EvidenceDir, reports.JournalFile))
	if err != nil {
		return err
	}
	var lines []faults.Line
	for _, e := range entries {
		lines = append(lines, faults.Line{Kind: e.Kind, Data: e.Data})
	}
	pending, err := faults.Pending(lines)
	if err == nil && len(pending) > 0 {
		err = fmt.Errorf("%s: not healed: %v", dir, pending)
	}
	return err
}

// listed says whether a run is in the list of runs as what it is.
func listed(l *lab, id, state string) error {
	rows, err := l.list()
	for _, row := range rows {
		if row.ID == id && string(row.State) == state {
			return err
		}
	}
	return errors.Join(err, fmt.Errorf("%s, judged %s, is not listed as such: %+v", id, state, rows))
}

// notListed says whether a run that never began is in the list. Its directory
// is removed a while later.
func notListed(l *lab, id string) error {
	rows, err := l.list()
	if slices.ContainsFunc(rows, func(row reports.Row) bool { return row.ID == id }) {
		err = errors.Join(err, fmt.Errorf("%s never began and is listed", id))
	}
	return err
}

func (l *lab) list() (rows []reports.Row, err error) {
	out, err := l.command("list", "runs", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &rows)
	}
	if err != nil {
		return nil, fmt.Errorf("list runs: %w: %s", err, stderrOf(err))
	}
	return rows, nil
}

// runs are the ids of all runs.
func (l *lab) runs() []string {
	entries, _ := os.ReadDir(filepath.Join(l.dir, "runs"))
	var ids []string
	for _, e := range entries {
		ids = append(ids, e.Name())
	}
	return ids
}

// keeperLogs end what is said of a failure: the last lines of the runs since.
func (l *lab) keeperLogs(since time.Time) string {
	var text strings.Builder
	logs, _ := filepath.Glob(filepath.Join(l.dir, "runs", "*", "keeper.log"))
	for _, log := range append(logs, filepath.Join(l.base, "run.out")) {
		if info, err := os.Stat(log); err != nil || info.ModTime().Before(since) {
			continue
		}
		lines, _ := os.ReadFile(log)
		all := bytes.Split(bytes.TrimSpace(lines), []byte("\n"))
		fmt.Fprintf(&text, "\n%s:\n%s", log, bytes.Join(all[max(0, len(all)-12):], []byte("\n")))
	}
	return text.String()
}

// needNamespaces skips where an experiment has no namespaces of its own: then
// killing the guard with its keeper leaves work for heal.
func needNamespaces(t *testing.T, l *lab) {
	t.Helper()
	out, err := l.command("doctor", "--json").Output()
	if err != nil {
		t.Fatalf("doctor: %v: %s", err, stderrOf(err))
	}
	var host scenarios.Preflight
	if err := json.Unmarshal(out, &host); err != nil {
		t.Fatal(err)
	}
	if host.Isolation == keeper.IsolationNamespaces {
		return
	}
	if os.Getenv("RMQ_TEST_REQUIRE") == "all" {
		t.Fatalf("experiments have isolation %s only", host.Isolation)
	}
	t.Skipf("experiments have isolation %s only", host.Isolation)
}

func exitCode(err error) int {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	return -1
}

func stderrOf(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(exit.Stderr)
	}
	return fmt.Sprint(err)
}
