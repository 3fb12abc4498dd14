package mq9

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	embedded "github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestMain makes the test binary a node of the embedded broker when it is
// started as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 || os.Args[1] != "node" {
		hosttest.Waiting()
		os.Exit(hosttest.Alone(m))
	}
	if err := embedded.Main(context.Background(), os.Args[2:], os.Stdout); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// startNodes starts nodes of the embedded broker, and returns their NATS addresses.
func startNodes(t *testing.T, n int) (addresses []string) {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	network := cluster.NewLoopback("")
	t.Cleanup(func() { network.Close() })
	c, err := cluster.Start(t.Context(), cluster.Options{
		Config: cluster.Config{Nodes: n}, Network: network, Dir: t.TempDir(), Self: []string{path, "node"}, Program: []string{path},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), hosttest.Bound)
		defer cancel()
		c.Stop(ctx)
	})
	for _, node := range c.Nodes() {
		addresses = append(addresses, node.NATS())
	}
	return addresses
}

// only are the statements of these names or groups.
func only(names ...string) []conformance.Statement {
	return slices.DeleteFunc(Statements(), func(s conformance.Statement) bool {
		return !slices.Contains(names, s.Name) && !slices.Contains(names, s.Group())
	})
}

func examined(t *testing.T, o conformance.Options) []conformance.Result {
	t.Helper()
	results, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return results
}

// told is a result with its packets, for who has to find out why.
func told(r conformance.Result) string {
	return fmt.Sprintf("%s %s: %s: %s\n%s", r.Name, r.Cite(), r.Verdict, r.Why, strings.Join(r.Packets, "\n"))
}

// TestControl holds the embedded broker against every statement: what it violates
// is what it is known for, no more and no less.
func TestControl(t *testing.T) {
	for nodes, parallel := range map[int]int{1: 16, 3: 2} {
		t.Run(fmt.Sprint(nodes, " nodes"), func(t *testing.T) {
			if nodes > 1 {
				hosttest.Long(t, "it holds a cluster against every statement")
			}
			t.Parallel()
			at := startNodes(t, nodes)
			known := conformance.KnownOf("reference")
			for _, r := range examined(t, conformance.Options{From: at[0], To: at[nodes-1], Known: known, Parallel: parallel}) {
				is := slices.ContainsFunc(known, func(k conformance.Known) bool { return k.Name == r.Name })
				switch {
				case r.Verdict == conformance.Undecided: // a machine that is too busy decides less
					t.Log(told(r))
				case r.Verdict == conformance.Unsupported && r.Name == "agent/semantic":
				case r.Verdict == conformance.Violates && is, r.Verdict == conformance.Conforms && !is:
				default:
					t.Errorf("%s, known for it: %t", told(r), is)
				}
			}
		})
	}
}

// TestStatements looks at the list itself.
func TestStatements(t *testing.T) {
	cite := regexp.MustCompile(`^(protocol|faq)\.md#[a-z0-9_-]+$`)
	names := map[string]bool{}
	groups := conformance.Groups(conformance.Statements())
	for _, e := range entries() {
		if names[e.name] {
			t.Errorf("%s is there twice", e.name)
		}
		names[e.name] = true
		if !cite.MatchString(e.cite) || e.text == "" || strings.HasSuffix(e.text, ".") || e.check == nil || e.level != must && e.level != should {
			t.Errorf("%s: number %q, level %q, text %q", e.name, e.cite, e.level, e.text)
		}
	}
	for _, s := range Statements() {
		if slices.Contains(groups, s.Group()) {
			t.Errorf("%s: MQTT has a group of that name", s.Name)
		}
	}
	for _, k := range conformance.KnownOf("reference") {
		if k.Version == conformance.MQ9 && !names[k.Name] {
			t.Errorf("the embedded broker is known for %s, of which there is no check", k.Name)
		}
	}
}

// A broker that lets nobody in is an error, and soon.
func TestNobody(t *testing.T) {
	began := time.Now()
	_, err := Run(t.Context(), conformance.Options{To: "127.0.0.1:1", Wait: time.Second})
	if err == nil || !strings.Contains(err.Error(), "make sure that this is a NATS port") {
		t.Errorf("error %v", err)
	}
	if took := time.Since(began); took > hosttest.Bound {
		t.Errorf("it took %v", took)
	}
}
