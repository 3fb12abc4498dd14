package keeper

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// killedAtRandom is the scenario of an experiment that may be killed at any
// instant.
const killedAtRandom = "killed/at-random"

// TestMain plays every part: guard, keeper, a child of the experiment, and a
// caller that is there to be killed.
func TestMain(m *testing.M) {
	role, args := "", []string(nil)
	if len(os.Args) > 1 {
		role, args = os.Args[1], os.Args[2:]
	}
	var err error
	switch role {
	case "guard":
		err = GuardMain(args, noteRecovery)
	case "keeper":
		err = KeeperMain(args, newFake)
	case "child":
		err = childMain(args)
	case "caller":
		err = callerMain(args)
	default:
		os.Exit(hosttest.Alone(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// noteRecovery stands for the replay of the undo journal.
func noteRecovery(runDir string) error {
	return os.WriteFile(filepath.Join(runDir, "recovered"), nil, 0o600)
}

// callerMain spawns an experiment, says so, and stays.
func callerMain(args []string) error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c, err := Spawn(context.Background(), SpawnOptions{
		StateDir: args[0], Self: []string{exe}, Start: Start{Scenario: args[1], GraceS: 1},
	})
	if err != nil {
		return err
	}
	if _, err := c.Inject(context.Background(), Inject{Type: "pause", Target: "node-1"}); err != nil {
		return err
	}
	fmt.Println(c.Info().ID)
	select {}
}

// childMain is a process of the experiment; its last argument says whose.
func childMain(args []string) error {
	switch args[0] {
	case "stay":
		fmt.Println("here")
		select {}
	case "leave": // behind an orphan
		cmd := exec.Command(os.Args[0], "child", "orphan", args[1])
		err := cmd.Start()
		fmt.Println(cmd.Process.Pid)
		return err
	case "orphan":
		return nil
	case "seven":
		fmt.Println("here")
		os.Exit(7)
	}
	return fmt.Errorf("no part %q", args[0])
}

// A fake experiment has two children, one of them stopped, and faults that
// only it knows about. It ends when it is told to.
type fake struct {
	env   Env
	start Start

	mu      sync.Mutex
	phase   string
	faults  []FaultStatus
	journal []string
	subs    map[chan Progress]bool
	stopped chan struct{}
	once    sync.Once
}

func newFake(_ context.Context, env Env, start Start) (Experiment, error) {
	if start.Scenario == "no/such" {
		return nil, errors.New(`no scenario "no/such"; call list_scenarios`)
	}
	if start.Scenario == "panics" {
		panic("a broken harness")
	}
	return &fake{env: env, start: start, phase: history.PhaseStarting, subs: map[chan Progress]bool{}, stopped: make(chan struct{})}, nil
}

func (f *fake) Run(ctx context.Context) error {
	runtime.LockOSThread() // where children may hang on it
	for _, stop := range []bool{false, true} {
		cmd, _, err := f.child("stay")
		if err != nil {
			return err
		}
		if stop {
			if err := freeze(cmd.Process); err != nil {
				return err
			}
		}
	}
	f.tell(history.PhaseReady)
	<-f.stopped
	f.tell(history.PhaseDone)
	return nil
}

// child starts a child and waits until it is there, or says something else.
func (f *fake) child(part string) (*exec.Cmd, string, error) {
	cmd := exec.Command(f.env.Self[0], "child", part, f.env.ID)
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	if f.start.Scenario == killedAtRandom {
		dieWithParent(cmd) // as on loopback, for the instant until it is announced
	}
	if err := cmd.Start(); err != nil {
		return nil, "", err
	}
	if err := f.env.Announce(cmd.Process.Pid); err != nil {
		return nil, "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	return cmd, strings.TrimSpace(line), err
}

func (f *fake) tell(phase string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.phase = phase
	for ch := range f.subs {
		ch <- Progress{Phase: phase}
	}
}

func (f *fake) Progress() (<-chan Progress, func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ch := make(chan Progress, 10)
	f.subs[ch] = true
	return ch, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.subs, ch)
	}
}

func (f *fake) Status(context.Context) Status {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Status{
		ID: f.env.ID, Dir: f.env.Dir, Phase: f.phase, Scenario: f.start.Scenario,
		Faults: append([]FaultStatus{}, f.faults...), Error: strings.Join(f.journal, " "),
		Counts: Counts{Received: int64(len(f.subs))},
	}
}

func (f *fake) Inject(_ context.Context, ask Inject) (FaultStatus, error) {
	if ask.Type != "pause" {
		return FaultStatus{}, fmt.Errorf("no fault %q; there is pause", ask.Type)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, FaultStatus{ID: fmt.Sprintf("f%d", len(f.faults)+1), Type: ask.Type, Target: ask.Target})
	return f.faults[len(f.faults)-1], nil
}

func (f *fake) Heal(_ context.Context, ask Heal) (FaultStatus, error) {
	return FaultStatus{ID: ask.Fault, Healed: "healed"}, f.HealAll(context.Background(), nil)
}

func (f *fake) HealAll(context.Context, error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = nil
	return nil
}

func (f *fake) RunClient(_ context.Context, ask RunClient) (ClientStatus, error) {
	return ClientStatus{Number: 1, SDK: ask.SDK}, nil
}

// Logs answers how a child ends that nobody waited for until process 1 had
// reaped an orphan.
func (f *fake) Logs(ctx context.Context, _ Logs) (LogLines, error) {
	seven, _, err := f.child("seven")
	if err != nil {
		return LogLines{}, err
	}
	leave, orphan, err := f.child("leave")
	if err != nil {
		return LogLines{}, err
	}
	if err := leave.Wait(); err != nil {
		return LogLines{}, err
	}
	if err := reaped(ctx, orphan); err != nil {
		return LogLines{}, err
	}
	return LogLines{Lines: []loglines.Line{{Text: seven.Wait().Error()}}}, nil
}

func (f *fake) Metrics(_ context.Context, ask Metrics) (MetricsAnswer, error) {
	return MetricsAnswer{Metrics: []Metric{{Node: ask.Node, Name: f.env.Isolation}}}, nil
}

func (f *fake) Journal(_ context.Context, caller Caller, answer any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.journal = append(f.journal, fmt.Sprint(caller.Tool, "=", answer))
	return nil
}

func (f *fake) Stop(ctx context.Context, _ Caller) (Status, error) {
	f.once.Do(func() { close(f.stopped) })
	st := f.Status(ctx)
	st.Phase = history.PhaseDone
	return st, nil
}

// Forward answers a connection that says where it leads and then echoes.
func (f *fake) Forward(_ context.Context, node string, port int) (net.Conn, error) {
	if node != "node-1" {
		return nil, fmt.Errorf("no node %q; there is node-1", node)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	go func() {
		defer l.Close()
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		var got bytes.Buffer
		got.ReadFrom(conn)
		fmt.Fprintf(conn, "%s:%d %s", node, port, got.String())
	}()
	return net.Dial("tcp", l.Addr().String())
}

// stateDir is a state directory that every process of the test may use.
func stateDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmq")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// spawn starts a fake experiment, and ends it with the test.
func spawn(t *testing.T, o SpawnOptions) *Client {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	o.Self = []string{exe}
	c, err := Spawn(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.Stop(context.Background(), Caller{})
		c.Close()
	})
	st, err := c.Wait(t.Context(), hosttest.Bound)
	if err != nil || st.Phase != history.PhaseReady {
		t.Fatalf("Wait = %q, %v, want ready", st.Phase, err)
	}
	return c
}

// eventually polls a condition that comes by itself.
func eventually(t *testing.T, within time.Duration, what string, cond func() bool) {
	t.Helper()
	for deadline := time.Now().Add(within); !cond(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not after %v: %s", within, what)
		}
	}
}
