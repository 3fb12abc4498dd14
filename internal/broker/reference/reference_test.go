package reference

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

const testBound = hosttest.Bound

// TestMain makes the test binary a node when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		if err := Main(context.Background(), os.Args[2:], os.Stdout); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(hosttest.Alone(m))
}

// A testNode is one node in a process of its own, with standard input as its
// guard.
type testNode struct {
	config Config
	path   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	log    strings.Builder
}

func (n *testNode) start(t *testing.T) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	n.cmd = exec.Command(self, "node", "-config", n.path)
	n.cmd.Stdout, n.cmd.Stderr = &n.log, &n.log
	if n.stdin, err = n.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := n.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	cmd := n.cmd
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
}

func (n *testNode) mqtt() string { return fmt.Sprintf("tcp://127.0.0.1:%d", n.config.MQTTPort) }

func (n *testNode) page(path string) ([]byte, error) {
	resp, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d%s", n.config.HTTPPort, path))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

func (n *testNode) ready(peers int) bool {
	var s Status
	b, err := n.page("/status")
	return err == nil && json.Unmarshal(b, &s) == nil && s.Ready && s.Peers >= peers
}

// startNodes starts a cluster and waits until all know each other.
func startNodes(t *testing.T, count int) []*testNode {
	t.Helper()
	nodes, routes := make([]*testNode, count), []string(nil)
	ports := freePorts(t, 4*count)
	for i := range nodes {
		p := ports[4*i:]
		nodes[i] = &testNode{config: Config{
			Name: fmt.Sprintf("node-%d", i+1), Host: "127.0.0.1", MQTTPort: p[0], NATSPort: p[1], ClusterPort: p[2], HTTPPort: p[3],
			Dir: t.TempDir(), Cluster: "test", Replicas: min(count, 3), AckWaitMS: 2000, StdinGuard: true,
		}}
		routes = append(routes, fmt.Sprintf("127.0.0.1:%d", p[2]))
	}
	for _, n := range nodes {
		if count > 1 {
			n.config.Routes = routes
		}
		b, err := json.Marshal(n.config)
		if err != nil {
			t.Fatal(err)
		}
		n.path = filepath.Join(t.TempDir(), "node.json")
		if err := os.WriteFile(n.path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		n.start(t)
	}
	for _, n := range nodes {
		until(t, n.config.Name+" is ready", func() bool { return n.ready(count) })
	}
	return nodes
}

// freePorts are below those that the kernel gives to outgoing connections.
func freePorts(t *testing.T, count int) []int {
	t.Helper()
	var ports []int
	for port := 20000 + os.Getpid()%8000; len(ports) < count && port < 32768; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			continue
		}
		l.Close()
		ports = append(ports, port)
	}
	if len(ports) < count {
		t.Fatalf("%d free ports, want %d", len(ports), count)
	}
	return ports
}

// until waits for a condition.
func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(testBound)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%v later still not: %s", testBound, what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// connect connects as soon as the node accepts it: while nobody leads the
// sessions it refuses.
func connect(t *testing.T, n *testNode, id string, on mqtt.MessageHandler) mqtt.Client {
	t.Helper()
	opts := mqtt.NewClientOptions().AddBroker(n.mqtt()).SetClientID(id).SetCleanSession(false).
		SetAutoReconnect(false).SetConnectTimeout(testBound).SetDefaultPublishHandler(on)
	c := mqtt.NewClient(opts)
	until(t, id+" is connected", func() bool { return c.Connect().WaitTimeout(testBound) && c.IsConnectionOpen() })
	t.Cleanup(func() { c.Disconnect(0) })
	return c
}

func wait(t *testing.T, what string, token mqtt.Token) {
	t.Helper()
	if !token.WaitTimeout(testBound) || token.Error() != nil {
		t.Fatalf("%s: %v", what, token.Error())
	}
}

// acknowledged returns the messages whose acknowledgement came in time. A message
// that was on its way to a leader when it died is never acknowledged on this
// connection.
func acknowledged(sent []mqtt.Token, in time.Duration) []string {
	var texts []string
	deadline := time.Now().Add(in)
	for i, token := range sent {
		if token.WaitTimeout(time.Until(deadline)) && token.Error() == nil {
			texts = append(texts, fmt.Sprint(i))
		}
	}
	return texts
}

// A message that was acknowledged with QoS 1 is delivered although a node was killed
// while the client published.
func TestKilledNodeLosesNothing(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	nodes := startNodes(t, 3)
	seen, mu := map[string]bool{}, sync.Mutex{}
	offline := connect(t, nodes[0], "offline", nil)
	wait(t, "subscribe", offline.Subscribe("t/1", 1, nil))
	offline.Disconnect(50)

	publisher := connect(t, nodes[1], "publisher", nil)
	var sent []mqtt.Token
	for i := range 200 {
		if i == 100 {
			wait(t, "acknowledge the first hundred", sent[99])
			nodes[2].cmd.Process.Kill()
			nodes[2].cmd.Wait()
		}
		sent = append(sent, publisher.Publish("t/1", 1, false, fmt.Sprint(i)))
	}
	acked := acknowledged(sent, 5*time.Second)
	if len(acked) < 100 {
		t.Fatalf("only %d messages were acknowledged", len(acked))
	}
	connect(t, nodes[1], "offline", func(_ mqtt.Client, m mqtt.Message) {
		mu.Lock()
		defer mu.Unlock()
		seen[string(m.Payload())] = true
	})
	until(t, "all that was acknowledged is delivered", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for _, text := range acked {
			if !seen[text] {
				return false
			}
		}
		return true
	})
	nodes[2].start(t)
	until(t, "the killed node is back", func() bool { return nodes[2].ready(3) })
}

// A node ends in order when the other side of its standard input is gone.
func TestGuard(t *testing.T) {
	n := startNodes(t, 1)[0]
	b, err := n.page("/metrics")
	if err != nil || !strings.Contains(string(b), "\nnats_goroutines ") {
		t.Errorf("metrics lack nats_goroutines (%v):\n%s", err, b)
	}
	n.stdin.Close()
	if err := n.cmd.Wait(); err != nil {
		t.Errorf("the node ended with %v:\n%s", err, &n.log)
	}
	if !strings.Contains(n.log.String(), "[INF]") {
		t.Errorf("the log is not in the broker's format:\n%s", &n.log)
	}
}

func TestMainRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty.json")
	if err := os.WriteFile(empty, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"give -config FILE":       nil,
		"no such file":            {"-config", filepath.Join(t.TempDir(), "none")},
		"read node configuration": {"-config", empty},
	} {
		err := Main(t.Context(), args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("node %v: %v, want %q", args, err, want)
		}
	}
}
