package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The promised effects come in seconds. On a busy machine they may take longer,
// but no longer than a scenario takes to end by itself.
const (
	leftBound   = hosttest.Bound  // from the keeper's death until nothing is left
	silentBound = hosttest.Bound  // from when a keeper is stopped until its guard kills it
	healBound   = hosttest.Bound  // from the death of the last server until what was explored by hand runs again
	grace       = 2 * time.Second // as these servers are started
	endBound    = 4 * time.Minute // until a scenario, or what was stopped, is over: a node that does not serve again is waited for, to heal and to drain
)

// TestKeeperKilled is the smoke of TestKill: the universal heal, once.
func TestKeeperKilled(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil, false)
	needNamespaces(t, l)
	r := &round{
		strike: strike{roles: []string{"keeper"}}, how: "by hand", scenario: "one-node.md", moment: 3 * time.Second,
		faults: []injection{{typ: "pause", target: "any"}, {typ: "delay", target: "any"}},
	}
	if err := r.play(t.Context(), l); err != nil {
		t.Errorf("%s: %v%s", r, err, l.keeperLogs(r.started))
	}
	t.Log(r.outcome)
}

// TestKill kills parts of real experiments at moments of their lives that a seed
// chose: nothing is left, everything is healed, and what was recorded is readable.
// RMQ_KILL_SEED is another seed, RMQ_KILL_ROUNDS the number of rounds for each
// strike and user.
func TestKill(t *testing.T) {
	hosttest.Long(t, "it runs clusters")
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
			rounds := killRounds(seed, name, canMount(user))
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
func killRounds(seed uint64, user string, mounts bool) <-chan *round {
	name := fnv.New64a()
	name.Write([]byte(user))
	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	rounds := make(chan *round)
	go func() {
		defer close(rounds)
		for n := range killsPerKind() {
			for _, s := range strikes() {
				if slices.Contains(s.roles, "disk") && !mounts {
					continue
				}
				rounds <- newRound(n, s, random)
			}
		}
	}()
	return rounds
}

// A strike is what happens to an experiment: these roles are killed, or
// stopped, together.
type strike struct {
	roles []string
	stop  bool // by SIGSTOP: nobody is told that they are gone
}

func strikes() []strike {
	return []strike{
		{roles: []string{"server"}}, {roles: []string{"keeper"}}, {roles: []string{"guard"}},
		{roles: []string{"guard", "keeper"}}, {roles: []string{"server", "keeper"}},
		{roles: []string{"disk"}}, {roles: []string{"disk", "keeper"}}, {roles: []string{"disk", "server", "keeper"}},
		{roles: []string{"keeper"}, stop: true}, {roles: []string{"disk"}, stop: true}, {roles: []string{"disk", "keeper"}, stop: true},
	}
}

// canMount reports whether a user may have file systems of our own: the device
// is root's alone on some hosts.
func canMount(user *syscall.Credential) bool {
	device, err := os.Stat("/dev/fuse")
	return err == nil && (user == nil || device.Mode().Perm()&0o006 == 0o006)
}

const defaultRounds = 1 // 22 in all: eleven strikes, two users

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
		return 1
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return seed
}

// A round is one experiment that is struck.
type round struct {
	number   int
	strike   strike
	how      string // run, serve, by hand
	scenario string
	judging  bool // the moment counts from when judging begins, else from when all were seen
	moment   time.Duration
	started  time.Time
	faults   []injection // put in place by hand, one over the other
	dead     []string    // the roles that were there to be struck
	outcome  string
}

// An injection is a fault as an agent asks for it.
type injection struct {
	typ    string
	target string
	params map[string]any
}

func newRound(number int, s strike, random *rand.Rand) *round {
	r := &round{number: number, strike: s, faults: randomFaults(random)}
	// Durations: seconds of a whole experiment, or of setting one up by hand.
	length := map[string]time.Duration{"no-fault.md": 5 * time.Second, "one-node.md": 10 * time.Second, "three-nodes.md": 15 * time.Second}
	names := slices.Sorted(maps.Keys(length))
	r.how = []string{"run", "run", "serve", "by hand", "by hand"}[random.IntN(5)]
	if slices.Contains(s.roles, "disk") {
		r.how = "by hand" // where one is armed
	}
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
	since, done := "after", "killed"
	if r.strike.stop {
		done = "stopped"
	}
	if r.judging {
		since = "judging since"
	}
	how := r.how
	if how == "by hand" {
		for _, f := range r.faults {
			how += " " + f.typ
		}
	}
	return fmt.Sprintf("round %d: %s of %s (%s) %s %s %v", r.number, strings.Join(r.strike.roles, "+"), how, r.scenario, done, since, r.moment.Round(time.Millisecond))
}

func (r *round) killed(role string) bool {
	if role == "server" {
		return slices.Contains(r.dead, "serve") || slices.Contains(r.dead, "run")
	}
	return slices.Contains(r.dead, role)
}

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
	errs = append(errs, r.hit(l))
	bound, left := leftBound, l.left
	if r.strike.stop {
		bound += silentBound
	}
	if r.killed("guard") {
		left = l.remains // who would remove control groups is dead, until the next command
	}
	if r.killed("keeper") || r.killed("guard") {
		errs = append(errs, await(bound, func() string { return prefixed("still there: ", left()) }))
	} else if r.killed("server") {
		errs = append(errs, r.runsOn(l))
	}
	code := end()
	// An experiment whose kill came too late has ended by itself.
	errs = append(errs, await(endBound, func() string { return prefixed("not over: ", left()) }))
	if r.killed("guard") {
		// The guard that takes care of a dead keeper is dead: the next command
		// does it.
		if out, err := l.command("list", "runs").CombinedOutput(); err != nil {
			errs = append(errs, fmt.Errorf("list runs: %w: %s", err, out))
		}
		errs = append(errs, await(leftBound, func() string { return prefixed("not undone: ", l.left()) }))
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
func (r *round) wasLate() bool { return len(r.dead) < len(r.strike.roles) }

// hit waits until all of those are there that are to be struck, and for the
// moment, and strikes what is there of them. An experiment may be over by then.
func (r *round) hit(l *lab) error {
	var names []string
	for _, role := range r.strike.roles {
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
	if told := l.told(); len(told) > 0 {
		err = errors.Join(err, fmt.Errorf("secrets of the environment are known to %v", told))
	}
	victims := l.processes(names...)
	if r.strike.stop {
		l.stop(victims)
	} else {
		l.kill(victims)
	}
	for _, p := range victims {
		if !slices.Contains(r.dead, p.role) {
			r.dead = append(r.dead, p.role)
		}
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
