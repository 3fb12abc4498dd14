package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// TestExternalProcess pauses a broker's process that the operator allows, is
// refused to kill it, and finds it running after its keeper was killed.
func TestExternalProcess(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	endpoint, pid := mosquitto(t)
	h := &harbour{lab: newLab(t, nil, false), t: t}
	t.Cleanup(func() { h.kill(h.processes()) })
	envelope := filepath.Join(h.base, "envelope")
	text := fmt.Sprintf("allowed_endpoints: [%q]\nallowed_pids: [%d]\n", endpoint, pid)
	if err := os.WriteFile(envelope, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	a := h.serve("--envelope", envelope)
	start := func(pid int) map[string]any {
		return map[string]any{"config": map[string]any{"flavor": "external", "endpoints": []string{endpoint}, "pids": []int{pid}}, "wait_s": 45}
	}
	refused := func(tool string, args map[string]any, want string) {
		t.Helper()
		answer, err := a.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
		if err != nil {
			t.Fatal(err)
		}
		if said := answer.Content[0].(*mcp.TextContent).Text; !strings.Contains(said, want) {
			t.Errorf("%s %v: %s, expected %q", tool, args, said, want)
		}
	}
	refused("cluster_start", start(pid+1), "allowed_pids")
	run := a.call("cluster_start", start(pid))["run_id"].(string)
	if got := a.call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/qos-roundtrip", "wait_s": 0, "duration_s": 5}); got["client"] == nil {
		t.Errorf("run_client: %v", got)
	}
	if got := a.inject("pause", "node-1"); got["landing"] != "landed" {
		t.Errorf("pause: %v", got)
	}
	refused("inject_fault", map[string]any{"type": "kill", "target": "node-1", "params": map[string]any{"duration_s": 2}}, "use pause")
	a.call("inject_fault", map[string]any{"type": "pause", "target": "node-1", "params": map[string]any{"duration_s": 60}})
	if state := stateOf(fmt.Sprintf("/proc/%d", pid)); state != "T" {
		t.Errorf("the broker is in state %s, expected T", state)
	}
	h.kill(h.processes("keeper"))
	if err := await(goneBound, func() string {
		if state := stateOf(fmt.Sprintf("/proc/%d", pid)); state == "T" {
			return "the broker is still paused"
		}
		return h.noted()
	}); err != nil {
		t.Error(err)
	}
	if err := healed(filepath.Join(h.dir, "runs", run)); err != nil {
		t.Error(err)
	}
}

// TestExternalControl runs a scenario whose fault nobody may do to somebody else's
// broker: its workload runs, and is judged as a control.
func TestExternalControl(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	endpoint, _ := mosquitto(t)
	report, err := runExternal(t, t.TempDir(), "mqtt/broker-kill-9", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict.State != "PASS-smoke" || report.Scenario.Name != "mqtt/broker-kill-9 (control)" || len(report.Landings) > 0 || !strings.Contains(report.Command, "--no-faults") {
		t.Errorf("%s of %s: %s; again: %s", report.Verdict.State, report.Scenario.Name, report.Verdict.Headline, report.Command)
	}
}

// TestExternalMQ9 runs a scenario of mq9 at the NATS listener of somebody else's broker, and
// lists the mailboxes that it leaves there, which expire.
func TestExternalMQ9(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	theirs, err := cluster.NewLocal([]string{binary()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(theirs.Close)
	c, err := theirs.Start(t.Context(), cluster.Config{Flavor: "reference"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	report, err := runExternal(t, dir, "mq9/workers-kill-9", c.Nodes()[0].NATS(), "--sdk", "go/nats.go")
	if err != nil {
		t.Fatalf("%v: %s", err, report.Verdict.Headline)
	}
	if report.Verdict.State != "PASS-smoke" || report.Scenario.Name != "mq9/workers-kill-9 (control)" {
		t.Errorf("%s of %s: %s", report.Verdict.State, report.Scenario.Name, report.Verdict.Headline)
	}
	journals, err := filepath.Glob(filepath.Join(dir, "runs", "*", "evidence", "journal.jsonl"))
	if err != nil || len(journals) != 1 {
		t.Fatalf("%v, %v", journals, err)
	}
	text, err := os.ReadFile(journals[0])
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "2 mailboxes of this run remain at the broker until they expire, within 24 hours of its start: rmq.") {
		t.Errorf("the journal does not say which mailboxes remain: %s", text)
	}
	if out, err := rmq(t, t.TempDir(), "run", "mqtt/qos-roundtrip", "--endpoint", c.Nodes()[0].NATS()).Output(); err == nil {
		t.Errorf("a scenario of MQTT at a NATS listener: %s", out)
	}
}

// TestExternalLeavesOut runs a scenario with faults on clients and on a node: the ones on
// clients land, and the verdict says that the other was left out.
func TestExternalLeavesOut(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	endpoint, _ := mosquitto(t)
	report, err := runExternal(t, t.TempDir(), "mqtt/will", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict.State != "PASS-smoke" || report.Scenario.Name != "mqtt/will" || len(report.Landings) != 4 || !strings.Contains(report.Verdict.Headline, "without the scenario's kill of node-3") {
		t.Errorf("%s of %s, %d landings: %s", report.Verdict.State, report.Scenario.Name, len(report.Landings), report.Verdict.Headline)
	}
}

// TestExternalForgets finds neither a session nor a retained message of a run at
// somebody else's broker, which had both.
func TestExternalForgets(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	endpoint, _ := mosquitto(t)
	dir := t.TempDir()
	report, err := runExternal(t, dir, "mqtt/retained-register", endpoint)
	if err != nil {
		t.Fatalf("%v: %s", err, report.Verdict.Headline)
	}
	sessions, registers := traces(t, dir, endpoint)
	if sessions == 0 || registers == 0 {
		t.Errorf("the run made %d sessions and %d registers: it shows nothing", sessions, registers)
	}
}

// TestExternalForgetsAfterAKill finds no session either where the run's keeper was
// killed.
func TestExternalForgetsAfterAKill(t *testing.T) {
	hosttest.Long(t, "it runs a broker")
	t.Parallel()
	endpoint, _ := mosquitto(t)
	l := newLab(t, nil, false)
	cmd, printed := l.run(t, history.PhaseSteady, "mqtt/persistent-session", "--flavor", "external", "--endpoint", endpoint)
	l.kill(l.processes("keeper"))
	cmd.Wait()
	if err := await(leftBound, func() string { return l.left() + l.noted() }); err != nil {
		t.Errorf("left: %v", err)
	}
	if sessions, _ := traces(t, l.dir, endpoint); sessions == 0 {
		t.Errorf("the run made no session: it shows nothing\n%s", printed())
	}
}

// traces is how many sessions and registers the one run in a state directory made at a
// broker, which must have neither any more.
func traces(t *testing.T, dir, endpoint string) (sessions, registers int) {
	t.Helper()
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "evidence"))
	if err != nil || len(runs) != 1 {
		t.Fatalf("%d runs, %v", len(runs), err)
	}
	tables, _, err := history.ReadTables(runs[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range tables.Processes {
		if p.Clean {
			continue
		}
		sessions++
		if said := converse(t, endpoint, p.ClientID); said[0].SessionPresent {
			t.Errorf("the broker has the session of %s", p.Name)
		}
	}
	for _, s := range tables.Streams {
		if s.Retain {
			registers++
		}
	}
	for _, pk := range converse(t, endpoint, "looks") {
		if pk.FixedHeader.Type == packets.Publish {
			t.Errorf("the broker has a retained message on %s", pk.TopicName)
		}
	}
	return sessions, registers
}

// converse connects as a client that keeps its session, subscribes to everything, and
// returns all that the broker says up to the answer to a ping.
func converse(t *testing.T, endpoint, id string) (said []*mqttpacket.Packet) {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(hosttest.Bound))
	in := bufio.NewReader(conn)
	for _, ask := range []struct {
		packet packets.Packet
		until  byte
	}{
		{packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Connect}, Connect: packets.ConnectParams{ProtocolName: []byte("MQTT"), ClientIdentifier: id, Keepalive: 60}}, packets.Connack},
		{packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Subscribe}, PacketID: 1, Filters: packets.Subscriptions{{Filter: "#"}}}, packets.Suback},
		{packets.Packet{FixedHeader: packets.FixedHeader{Type: packets.Pingreq}}, packets.Pingresp},
	} {
		b, err := mqttpacket.Encode(4, ask.packet)
		if err == nil {
			_, err = conn.Write(b)
		}
		for err == nil {
			var pk *mqttpacket.Packet
			if pk, err = mqttpacket.Read(in, 4); err == nil {
				said = append(said, pk)
				if pk.FixedHeader.Type == ask.until {
					break
				}
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return said
}

// TestKeptOut runs a scenario on a broker that lets in rmq-mcp's own client and no
// other: that is a finding, and no failure of the harness.
func TestKeptOut(t *testing.T) {
	hosttest.Long(t, "it waits for clients that never connect")
	t.Parallel()
	endpoint, _ := mosquitto(t)
	report, err := runExternal(t, t.TempDir(), "mqtt/qos-roundtrip", doorkeeper(t, endpoint))
	if err == nil {
		t.Error("exit status 0, expected 1")
	}
	v := report.Verdict
	if v.State != "FAIL-once" || v.Severity != "P0" || !strings.Contains(v.Headline, "never let in") || !strings.HasPrefix(v.Blame, "unknown: pending the same scenario with another SDK") {
		t.Errorf("%s (%s): %s; blame: %s", v.State, v.Severity, v.Headline, v.Blame)
	}
}

// mosquitto runs one, and returns its endpoint and process.
func mosquitto(t *testing.T) (endpoint string, pid int) {
	t.Helper()
	port := freePort(t)
	broker := exec.Command(hosttest.Program(t, "mosquitto"), "-p", port)
	if err := broker.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.Process.Kill(); broker.Wait() })
	return "127.0.0.1:" + port, broker.Process.Pid
}

// doorkeeper stands before a broker and refuses every client but probes.
func doorkeeper(t *testing.T, broker string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				connect := make([]byte, 512)
				n, err := client.Read(connect)
				if err != nil || !bytes.Contains(connect[:n], []byte("probe")) {
					client.Write([]byte{0x20, 2, 0, 2}) // CONNACK: identifier rejected
					return
				}
				server, err := net.Dial("tcp", broker)
				if err != nil {
					return
				}
				defer server.Close()
				server.Write(connect[:n])
				go io.Copy(client, server)
				io.Copy(server, client)
			}()
		}
	}()
	return l.Addr().String()
}

// An externalRun is what a test looks at in a report.
type externalRun struct {
	Scenario struct{ Name string }
	Verdict  verdict.Verdict
	Landings []any
	Command  string `json:"reproduce"`
}

// runExternal runs a scenario on somebody else's broker. An error is the status.
func runExternal(t *testing.T, dir, scenario, endpoint string, flags ...string) (report externalRun, err error) {
	t.Helper()
	args := append([]string{"run", scenario, "--endpoint", endpoint, "--no-repeat", "--json"}, flags...)
	out, err := rmq(t, dir, args...).Output()
	if parse := json.Unmarshal(out, &report); parse != nil {
		t.Fatalf("%v: %v: %s", parse, err, stderrOf(err))
	}
	return report, err
}
