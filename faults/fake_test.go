package faults

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A rig is an engine on fakes, and everything they saw in order. Its times are
// those of the synctest bubble it is made in.
type rig struct {
	*Engine
	started time.Time
	nodes   []*fakeNode
	witness *fakeNode
	full    string // the journal's kind of line that fails

	mu     sync.Mutex
	log    []string
	lines  []Line
	events []history.Event
}

func newRig(nodes int) *rig {
	r := &rig{started: time.Now(), witness: &fakeNode{name: "witness", state: Running}}
	for i := range nodes {
		n := &fakeNode{name: fmt.Sprintf("node-%d", i+1), state: Running}
		n.tell = r.note
		r.nodes = append(r.nodes, n)
	}
	r.Engine = NewEngine(Options{
		Journal: r, Record: r.record, Clock: r, Decide: verdict.DecideLanding,
		Layer: r.layer, Nodes: r.index,
	})
	return r
}

func (r *rig) Now() time.Duration { return time.Since(r.started) }

func (r *rig) note(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.log = append(r.log, fmt.Sprintf(format, args...))
}

func (r *rig) seen() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.log)
}

func (r *rig) Append(kind string, data any) (int, error) {
	if kind == r.full {
		return 0, errors.New("no space left on device")
	}
	r.note("journal %s", kind)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lines = append(r.lines, Line{Kind: kind, Data: encode(data)})
	return len(r.lines), nil
}

func (r *rig) record(e history.Event) int64 {
	names := map[history.Kind]string{history.KindInject: "inject", history.KindHeal: "heal"}
	edges := map[history.Edge]string{history.Call: "call", history.Return: "return"}
	r.note("%s %s", names[e.Kind], edges[e.Edge])
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, e)
	return int64(len(r.events) - 1)
}

func (r *rig) layer(name string) (Layer, error) {
	for _, n := range r.nodes {
		if name == "process/"+n.name {
			return NewProcessLayer(n), nil
		}
	}
	return nil, fmt.Errorf("no layer %q", name)
}

func (r *rig) index(name string) int16 {
	return int16(slices.IndexFunc(r.nodes, func(n *fakeNode) bool { return n.name == name }))
}

// on is a target of the nodes with these numbers; the rest is the control.
func (r *rig) on(numbers ...int) Target {
	t := Target{Asked: "any"}
	for i, n := range r.nodes {
		if slices.Contains(numbers, i+1) {
			t.Nodes = append(t.Nodes, n)
		} else {
			t.Control = append(t.Control, n)
		}
	}
	t.Control = append(t.Control, r.witness)
	return t
}

// inject injects a fault of a type and must not fail.
func (r *rig) inject(t *testing.T, typ string, target Target, seconds float64) history.Landing {
	t.Helper()
	l, err := r.Inject(t.Context(), request(t, typ, seconds), target)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func request(t *testing.T, typ string, seconds float64) Request {
	t.Helper()
	req, err := Parse(typ, map[string]any{"duration_s": seconds})
	if err != nil {
		t.Fatal(err)
	}
	return req
}

// A fakeNode is a process whose behaviour a test can bend.
type fakeNode struct {
	name string
	tell func(string, ...any)

	deaf    bool          // Set does nothing and says nothing
	answers bool          // the probe answers whatever the state
	mute    bool          // the probe never answers
	takes   time.Duration // a probe; 0: a millisecond
	slow    bool          // a probe that gets no answer waits for it as long as it may
	refuses error         // Set's answer, unless it is to run
	broken  error         // Set's answer to running
	exit    string
	foreign bool           // not ours
	theirs  map[string]any // how to find it, of somebody else's that is named

	word     map[string]string // what Ask adds
	log      string            // path
	mu       sync.Mutex
	state    string
	births   int
	serves   time.Time
	wiped    int
	binary   string
	settings map[string]any
}

// Process is the n-th that the node has been.
func (n *fakeNode) Process() (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if hasEnded(n.state) {
		return "", errors.New(n.state)
	}
	return fmt.Sprintf("process %d", n.births), nil
}

func (n *fakeNode) Ask(context.Context) (map[string]string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	word := map[string]string{"version": "A", "members": "all", "setting.limit": "10"}
	if n.binary != "" {
		word["version"] = "B"
	}
	for key, value := range n.settings {
		word["setting."+key] = fmt.Sprint(value)
	}
	maps.Copy(word, n.word)
	return word, nil
}

func (n *fakeNode) Launch(binary string, settings map[string]any) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell("launch %s %s %v", n.name, binary, settings)
	n.binary, n.settings = binary, settings
	return nil
}

func (n *fakeNode) Foreign() map[string]any { return n.theirs }

func (n *fakeNode) Launchable(string, map[string]any) error { return nil }

func (n *fakeNode) Wipe() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell("wipe %s", n.name)
	n.wiped += 3
	return nil
}

func (n *fakeNode) Wiped() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.wiped
}

func (n *fakeNode) LogPath() string { return n.log }

func (n *fakeNode) Name() string { return n.name }

func (n *fakeNode) State(context.Context) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.foreign {
		return "", fmt.Errorf("%w: %s is somebody else's", ErrUnsupported, n.name)
	}
	return n.state, nil
}

func (n *fakeNode) Probe(ctx context.Context) (time.Duration, error) {
	n.mu.Lock()
	early := time.Now().Before(n.serves)
	n.mu.Unlock()
	if (n.now() == Running && !early || n.answers) && !n.mute {
		return cmp.Or(n.takes, time.Millisecond), nil
	}
	if n.slow {
		<-ctx.Done()
	}
	return 0, fmt.Errorf("no answer from %s", n.name)
}

func (n *fakeNode) Set(ctx context.Context, want ProcessState) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.tell("set %s %s", n.name, want)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case want == Running && n.broken != nil:
		return n.broken
	case want != Running && n.refuses != nil:
		return n.refuses
	case n.deaf:
		return nil
	case want == Frozen && n.state != Running && n.state != Frozen:
		return fmt.Errorf("it is not running: %s", n.state)
	}
	if want == Running && hasEnded(n.state) {
		n.births++
		n.serves = time.Now().Add(50 * time.Millisecond)
	}
	n.state = map[ProcessState]string{
		Running: Running, Frozen: Frozen,
		Killed: "exited: signal 9 (killed)", Stopped: "exited: status 0",
	}[want]
	if n.exit != "" && want != Running {
		n.state = n.exit
	}
	return nil
}

func (n *fakeNode) now() string {
	s, _ := n.State(context.Background())
	return s
}

// A fakeDriver reports all the time, unless it is frozen or dead.
type fakeDriver struct {
	idle, deaf, alone bool

	mu    sync.Mutex
	state string
	lines int64
}

func (d *fakeDriver) Name() string { return "d" }

func (d *fakeDriver) State() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state == "" {
		d.state = Running
	}
	return d.state, nil
}

func (d *fakeDriver) Set(_ context.Context, want ProcessState) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.deaf || strings.HasPrefix(d.state, history.StateExited) {
		return nil
	}
	d.state = want
	if want == Killed {
		d.state = "exited: signal: killed"
	}
	return nil
}

func (d *fakeDriver) Connections() (int, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.alone || strings.HasPrefix(d.state, history.StateExited) {
		return 0, nil
	}
	return 1, nil
}

func (d *fakeDriver) Lines() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.idle && (d.state == "" || d.state == Running) {
		d.lines++
	}
	return d.lines
}
