package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testBound is for one test's whole cluster, on a busy machine.
const testBound = 90 * time.Second

// skip skips a test that needs something the host lacks, unless everything is
// required.
func skip(t *testing.T, reason string) {
	t.Helper()
	if os.Getenv("RMQ_TEST_REQUIRE") == "all" {
		t.Fatal(reason)
	}
	t.Skip(reason)
}

// startCluster starts one on loopback and ends it with the test.
func startCluster(t *testing.T, config Config) (context.Context, *Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	t.Cleanup(cancel)
	c, err := Start(ctx, optionsFor(t, config))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Kill)
	return ctx, c
}

func optionsFor(t *testing.T, config Config) Options {
	t.Helper()
	network := NewLoopback("")
	t.Cleanup(func() { network.Close() })
	return Options{Config: config, Network: network, Dir: t.TempDir(), Self: self(t), Seed: 1, Progress: func(s string) { t.Log(s) }}
}

func set(t *testing.T, ctx context.Context, n *Node, want string) {
	t.Helper()
	if err := n.Set(ctx, want); err != nil {
		t.Fatal(err)
	}
}

func wantState(t *testing.T, n *Node, want string) {
	t.Helper()
	got, err := n.State(context.Background())
	if err != nil || got != want {
		t.Errorf("state of %s is %q (%v), want %q", n.Name(), got, err, want)
	}
}

func serves(ctx context.Context, n *Node) bool {
	_, err := n.Probe(ctx)
	return err == nil
}

func TestReference(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 3})
	if got := len(c.Endpoints()); got != 3 {
		t.Fatalf("%d endpoints, want 3", got)
	}
	leaders, err := c.Resolve(ctx, "leader", "any/topic")
	if err != nil {
		t.Fatal(err)
	}
	leader := leaders[0]
	followers, err := c.Resolve(ctx, "follower", "any/topic")
	if err != nil {
		t.Fatal(err)
	}
	if followers[0] == leader {
		t.Errorf("%s is leader and follower", leader.Name())
	}
	checkViews(t, ctx, c, leader)
	checkFigures(t, ctx, leader, "nats_jetstream_streams", "process_memory_bytes")

	t.Run("killed", func(t *testing.T) {
		set(t, ctx, leader, "killed")
		wantState(t, leader, stateKilled)
		if serves(ctx, leader) {
			t.Errorf("%s answers after it was killed", leader.Name())
		}
		next, err := c.Resolve(ctx, "leader", "any/topic")
		if err != nil {
			t.Fatal(err)
		}
		if next[0] == leader {
			t.Errorf("%s leads although it is dead", leader.Name())
		}
		old := leader.PID()
		set(t, ctx, leader, "running")
		wantState(t, leader, stateRunning)
		if leader.PID() == old || !serves(ctx, leader) {
			t.Errorf("%s was not started again", leader.Name())
		}
	})
	t.Run("frozen", func(t *testing.T) {
		n := c.Nodes()[1]
		set(t, ctx, n, "frozen")
		wantState(t, n, stateFrozen)
		if serves(ctx, n) {
			t.Errorf("%s answers while it is frozen", n.Name())
		}
		set(t, ctx, n, "running")
		wantState(t, n, stateRunning)
	})
	t.Run("stopped", func(t *testing.T) {
		n := c.Nodes()[2]
		set(t, ctx, n, "frozen")
		set(t, ctx, n, "stopped")
		wantState(t, n, "exited: status 0")
		if err := n.Set(ctx, "frozen"); err == nil {
			t.Error("a node that ended was frozen")
		}
		set(t, ctx, n, "running")
		log, err := os.ReadFile(n.LogPath())
		if err != nil || !strings.Contains(string(log), "started again") {
			t.Errorf("the log of %s has no line between its two lives (%v)", n.Name(), err)
		}
	})
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	for _, n := range c.Nodes() {
		wantState(t, n, "exited: status 0")
	}
}

func checkViews(t *testing.T, ctx context.Context, c *Cluster, leader *Node) {
	t.Helper()
	want := map[string][]string{}
	for _, n := range c.Nodes() {
		want[n.Name()] = []string{"follower"}
	}
	want[leader.Name()] = []string{"leader"}
	if diff := cmp.Diff(want, c.Views(ctx)); diff != "" {
		t.Errorf("views (-want +got):\n%s", diff)
	}
}

func checkFigures(t *testing.T, ctx context.Context, n *Node, names ...string) {
	t.Helper()
	figures, err := n.Metrics(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if figures[name] <= 0 {
			t.Errorf("%s of %s is %v, want more", name, n.Name(), figures[name])
		}
	}
}

func TestMosquitto(t *testing.T) {
	config := Config{Flavor: "mosquitto"}
	if _, _, err := check(config); err != nil {
		skip(t, err.Error())
	}
	ctx, c := startCluster(t, config)
	n := c.Nodes()[0]
	info := c.Info()
	if info.Differs["max_queued_messages"] != "1000 → 0" || len(info.Differs) != 1 {
		t.Errorf("differs from the vendor's in %v", info.Differs)
	}
	if slices.Contains(info.Promises, "qos1-no-loss") {
		t.Error("mosquitto does not promise to keep messages when it is killed")
	}
	if len(info.BinarySHA) != 64 || !strings.HasPrefix(info.Version, "mosquitto ") {
		t.Errorf("info is %+v", info)
	}
	checkFigures(t, ctx, n, "process_memory_bytes")
	set(t, ctx, n, "killed")
	wantState(t, n, stateKilled)
	set(t, ctx, n, "running")
	set(t, ctx, n, "stopped")
	wantState(t, n, "exited: status 0")
}

func TestExternal(t *testing.T) {
	ctx, c := startCluster(t, Config{Nodes: 1})
	_, outside := startCluster(t, Config{Flavor: "external", Endpoints: c.Endpoints()})
	n := outside.Nodes()[0]
	if !serves(ctx, n) {
		t.Error("the external node does not answer")
	}
	if _, err := n.State(ctx); !errors.Is(err, ErrUnsupported) {
		t.Errorf("state of an external node: %v, want unsupported", err)
	}
	if err := n.Set(ctx, "killed"); !errors.Is(err, ErrUnsupported) {
		t.Errorf("kill an external node: %v, want unsupported", err)
	}
	if _, err := outside.Resolve(ctx, "leader", ""); !errors.Is(err, ErrUnsupported) {
		t.Errorf("leader of external nodes: %v, want unsupported", err)
	}
	if err := outside.Stop(ctx); err != nil {
		t.Error(err)
	}
	if !serves(ctx, n) {
		t.Error("stopping an external cluster stopped what is not ours")
	}
}

// A broker that cannot start shows why, and takes the others with it.
func TestStartFails(t *testing.T) {
	script := filepath.Join(t.TempDir(), "broker")
	text := "#!/bin/sh\n[ \"$1\" = -h ] && { echo 'mosquitto version 9'; exit; }\necho Error: the sky is falling\nexit 3\n"
	if err := os.WriteFile(script, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	if exec.Command(script, "-h").Run() != nil {
		skip(t, "no shell")
	}
	opts := optionsFor(t, Config{Flavor: "mosquitto", Binary: script})
	_, err := Start(context.Background(), opts)
	if err == nil {
		t.Fatal("a broker that ends at once was started")
	}
	for _, want := range []string{"node-1", "status 3", "the sky is falling"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
}

// Where one of several does not come up, none is left.
func TestStartFailsTogether(t *testing.T) {
	opts := optionsFor(t, Config{Nodes: 3})
	f, config, err := check(opts.Config)
	if err != nil {
		t.Fatal(err)
	}
	opts.Config, opts.Logs = config, opts.Dir
	p, err := f.plan(opts)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.nodes[2].dir, "node.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	c := &Cluster{flavor: f, plan: p}
	ctx, cancel := context.WithTimeout(context.Background(), testBound)
	defer cancel()
	err = c.startAll(ctx, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "node-3") || !strings.Contains(err.Error(), "node.json") {
		t.Errorf("error %v, want node-3 and what is wrong with its file", err)
	}
	for _, n := range p.nodes {
		if p := n.process(); p != nil && !p.exited() {
			t.Errorf("%s is left running", n.Name())
		}
	}
}

func TestConfig(t *testing.T) {
	t.Setenv(robustmqEnv, "")
	for _, c := range []struct {
		name   string
		config Config
		want   string
	}{
		{"flavor", Config{Flavor: "rabbit"}, "choose reference, robustmq, mosquitto or external"},
		{"profile", Config{Profile: "fast"}, "choose tested or as-shipped"},
		{"too many nodes", Config{Nodes: 6}, "choose 1 to 5"},
		{"negative nodes", Config{Flavor: "robustmq", Nodes: -1}, "choose 1 to 5"},
		{"mosquitto cluster", Config{Flavor: "mosquitto", Nodes: 3}, "set it to 1"},
		{"missing binary", Config{Flavor: "mosquitto", Binary: "/no/such/program"}, "no program at /no/such/program"},
		{"no binary", Config{Flavor: "robustmq"}, "set binary or RMQ_ROBUSTMQ_BIN"},
		{"binary of reference", Config{Binary: "/bin/true"}, "leave binary out"},
		{"unknown setting", Config{Settings: map[string]any{"sync": true}}, "it has ack_wait_ms, max_ack_pending, sync_always"},
		{"setting of the wrong type", Config{Settings: map[string]any{"sync_always": 7}}, "sync_always"},
		{"no endpoints", Config{Flavor: "external"}, "external needs endpoints"},
		{"endpoint", Config{Flavor: "external", Endpoints: []string{"host"}}, "not host:port"},
		{"endpoints elsewhere", Config{Endpoints: []string{"h:1"}}, "set flavor external"},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := optionsFor(t, c.config)
			_, err := Start(context.Background(), opts)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if logs, _ := filepath.Glob(filepath.Join(opts.Dir, "logs", "*")); len(logs) > 0 {
				t.Errorf("something was started: %v", logs)
			}
		})
	}
}

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	n := &Node{name: "node-1", log: filepath.Join(dir, "node-1.log")}
	if err := os.WriteFile(n.log, []byte("one\ntw"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &Cluster{plan: &plan{nodes: []*Node{n}}}
	var got []string
	done := c.Follow(ctx, func(_, line string, _ time.Time) {
		got = append(got, line)
		switch line {
		case "one":
			f, _ := openLog(n.log, false)
			f.WriteString("o\nthree\n")
			f.Close()
		case "three":
			cancel()
		}
	})
	select {
	case <-done:
	case <-time.After(testBound):
		t.Fatal("the last line was not seen")
	}
	if diff := cmp.Diff([]string{"one", "two", "three"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestParseMetrics(t *testing.T) {
	page := `# HELP a_total what it counts
# TYPE a_total counter
a_total 3
b{} 1.5 1700000000
raft_apply_lag{machine="data_0"} 2
latency_bucket{le="1"} 9
latency_count 12
client_connections_total{tenant="default",client_id="x y"} 1
not a sample
c NaN
# EOF
`
	got := map[string]float64{}
	parseMetrics([]byte(page), got)
	delete(got, "c")
	want := map[string]float64{"a_total": 3, "b": 1.5, `raft_apply_lag{machine="data_0"}`: 2, "latency_count": 12}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

func TestRoles(t *testing.T) {
	nodes := func(n int) *Cluster {
		p := &plan{}
		for _, name := range nodeNames(n) {
			p.nodes = append(p.nodes, &Node{name: name})
		}
		return newCluster(external{}, p, 7)
	}
	for _, c := range []struct {
		role  string
		nodes int
		want  int // how many; 0: an error
	}{
		{"node-2", 3, 1}, {"node-4", 3, 0}, {"any", 3, 1}, {"all", 3, 3},
		{"majority", 3, 2}, {"majority", 1, 1}, {"majority", 4, 3},
		{"minority", 3, 1}, {"minority", 5, 2}, {"minority", 1, 0}, {"king", 3, 0},
	} {
		got, err := nodes(c.nodes).Resolve(t.Context(), c.role, "")
		again, _ := nodes(c.nodes).Resolve(t.Context(), c.role, "")
		if len(got) != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s of %d: %d nodes, %v; want %d", c.role, c.nodes, len(got), err, c.want)
		}
		if diff := cmp.Diff(namesOf(got), namesOf(again)); diff != "" {
			t.Errorf("%s of %d: one seed, two choices:\n%s", c.role, c.nodes, diff)
		}
	}
}

func namesOf(nodes []*Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}

func TestLoopbackPorts(t *testing.T) {
	one, two := NewLoopback(""), NewLoopback("")
	defer one.Close()
	defer two.Close()
	seen := map[int]bool{}
	for _, network := range []Network{one, two} {
		for _, name := range nodeNames(5) {
			host, err := network.Host(name)
			if err != nil {
				t.Fatal(err)
			}
			for service := range robustmqPorts() {
				port, err := host.Port(service, 1883)
				if err != nil {
					t.Fatal(err)
				}
				if again, _ := host.Port(service, 1883); again != port {
					t.Errorf("%s of %s: %d, then %d", service, name, port, again)
				}
				if seen[port] || port >= 32768 {
					t.Errorf("%s of %s: port %d is taken or an outgoing one", service, name, port)
				}
				seen[port] = true
			}
		}
	}
}
