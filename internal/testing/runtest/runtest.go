// Package runtest records runs for the tests of what reads them.
package runtest

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/build"
)

// A Run is a plausible one: two publishers at a steady rate, an online and an offline
// subscriber, a broker that is killed and comes back. With Lossy the broker forgets what
// it had stored for the offline one.
type Run struct {
	ID      string
	Lossy   bool
	Seconds float64 // of publishing; 0: 6
	Rate    int     // messages/s of each publisher; 0: 50
	Open    bool    // the keeper dies: nothing is closed or written at the end
	Tool    string  // the version that recorded it; "": this one
}

func (x Run) recordedBy() string { return cmp.Or(x.Tool, build.Version()) }

// Start is when each of them began.
var Start = time.Date(2026, 11, 21, 1, 7, 0, 0, time.UTC)

// Key is the same in every test, so that seals differ by evidence only.
var Key = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

type recording struct {
	*history.Recorder
	random *rand.Rand
	events map[int32]int64 // per process
}

// Record writes the run directory below dir and returns it. Its files are where
// `history/FORMAT.md` has them.
func (x Run) Record(t testing.TB, dir string) string {
	t.Helper()
	if x.ID == "" {
		x.ID = "1121-0107-broker-kill-9-3f2a"
	}
	if x.Seconds == 0 {
		x.Seconds = 6
	}
	if x.Rate == 0 {
		x.Rate = 50
	}
	dir = filepath.Join(dir, x.ID)
	evidence := filepath.Join(dir, "evidence")
	must(t, os.MkdirAll(filepath.Join(evidence, "logs"), 0o755))
	must(t, os.WriteFile(filepath.Join(evidence, "scenario.md"), []byte("---\nname: mqtt/broker-kill-9\n---\n# Kill a broker under load\n\nQoS 2 is judged by mqtt/publish-crash-reconnect.\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(evidence, "logs", "node-1.log"), []byte("INFO starting\nINFO broker config:{\"default_password\":\"robustmq\"}\nINFO serving\n"), 0o644))
	must(t, os.WriteFile(filepath.Join(evidence, "logs", "driver-1.log"), []byte("hello\n"), 0o644))
	must(t, history.WriteRun(evidence, x.run()))
	x.journal(t, evidence)
	x.events(t, evidence)
	if !x.Open {
		must(t, history.WriteLandings(evidence, x.landings()))
		must(t, os.WriteFile(filepath.Join(evidence, "harness.json"), fmt.Appendf(nil, `{"format":%d,"errors":[]}`, history.Format), 0o644))
	}
	return dir
}

func (x Run) run() *history.Run {
	return &history.Run{
		ID: x.ID, Tool: x.recordedBy(), Started: Start, Scenario: "mqtt/broker-kill-9", ScenarioSHA: "abc", Seed: 7, Tier: "smoke",
		Protocol: "mqtt3", SDK: "go@1.5.1", RunBits: "cafe0123",
		Claims: []string{"qos1-no-loss", "no-unexpected", "no-corruption"},
		Faults: []history.PlannedFault{{Type: "kill", Target: "leader"}},
		Budget: history.Budget{DurationS: x.Seconds / 2, Messages: 100, Faults: 1, MinRate: 0.5},
		Cluster: history.ClusterInfo{
			Flavor: "mosquitto", Runtime: "process", Isolation: "loopback", Nodes: 1, Version: "2.0.21", Binary: "mosquitto",
			BinarySHA: "0123456789abcdef", Profile: "tested", Config: map[string]any{"persistence": false},
			Differs:  map[string]string{"allow_anonymous": "false → true", "max_queued_messages": "1000 → 0"},
			Promises: []string{"no-unexpected", "no-corruption"}, Host: map[string]string{"cores": "2", "kernel": "6.12"},
		},
	}
}

func (x Run) journal(t testing.TB, evidence string) {
	t.Helper()
	j, err := journal.Open(filepath.Join(evidence, "journal.jsonl"))
	must(t, err)
	for _, e := range []struct {
		kind string
		body map[string]any
	}{
		{"start", map[string]any{"via": "mcp", "client": "claude-code 2.1", "tool": "run_scenario", "args": map[string]any{"scenario": "mqtt/broker-kill-9"}}},
		{"answer", map[string]any{"via": "mcp", "tool": "run_scenario", "answer": map[string]any{"run_id": x.ID, "phase": "starting"}}},
		{"end", map[string]any{"via": "keeper", "answer": map[string]any{"harness": nil}}},
	} {
		_, err := j.Append(e.kind, e.body)
		must(t, err)
	}
	must(t, j.Close())
}

// The times of an experiment's life, as shares of its seconds.
func (x Run) at(share float64) time.Duration {
	return 500*time.Millisecond + time.Duration(share*x.Seconds*1e9)
}
func (x Run) killed() time.Duration { return x.at(0.35) }
func (x Run) back() time.Duration   { return x.at(0.55) }

func (x Run) landings() []history.Landing {
	sample := func(m history.Moment, at time.Duration, ok bool, state string, value float64) history.Sample {
		return history.Sample{Moment: m, TimeNS: int64(at), OK: ok, State: state, Value: value}
	}
	during := (x.killed() + x.back()) / 2
	return []history.Landing{{
		Fault: "f1", Type: "kill", Target: "leader", Nodes: []string{"node-1"}, Mechanism: "sigkill", Call: 1,
		Times: history.LandingTimes{
			PlannedNS: int64(x.killed() - 5e6), AppliedNS: int64(x.killed()), HealNS: int64(x.back() - 3e8), HealedNS: int64(x.back()), DurationNS: 1e9,
		},
		Proofs: []history.ProofRecord{
			{Name: "exit status of node-1", Role: history.RoleMechanism, Want: history.WantState, Expect: "exited: signal 9", Samples: []history.Sample{
				sample(history.Before, x.killed()-2e6, true, "running", 0), sample(history.During, during, true, "exited: signal 9", 0), sample(history.After, x.back(), true, "running", 0)}},
			{Name: "connect to node-1", Role: history.RoleEffect, Want: history.WantFails, Unit: "ms", Samples: []history.Sample{
				sample(history.Before, x.killed()-1e6, true, "", 0.8), sample(history.During, during, false, "", 0), sample(history.After, x.back(), true, "", 1.1)}},
			{Name: "connect to the witness", Role: history.RoleControl, Want: history.WantStill, Unit: "ms", Margin: 100, Samples: []history.Sample{
				sample(history.Before, x.killed()-1e6, true, "", 0.4), sample(history.During, during, true, "", 0.5), sample(history.After, x.back(), true, "", 0.4)}},
		},
		State: history.Landed, Healed: history.HealVerified,
	}}
}

// events records what happened.
func (x Run) events(t testing.TB, evidence string) {
	t.Helper()
	rec, err := history.Create(evidence, history.Options{})
	must(t, err)
	r := &recording{Recorder: rec, random: rand.New(rand.NewPCG(1, 2)), events: map[int32]int64{}}
	rec.Node(history.Node{Name: "node-1", Address: "127.0.0.1", Version: "2.0.21"})
	sdk := "go/paho.mqtt.golang@1.5.1"
	filters := []history.Filter{{Filter: "work/#", QoS: 1}}
	var publishers, streams [2]int32
	for i, name := range []string{"publisher-1", "publisher-2"} {
		publishers[i] = rec.Process(history.Process{Name: name, ClientID: name, Group: "publisher", SDK: sdk, Protocol: "mqtt3"})
		streams[i] = rec.Stream(history.Stream{Producer: publishers[i], Topic: "work/" + name, QoS: 1})
	}
	online := rec.Process(history.Process{Name: "online-1", ClientID: "online-1", Group: "online", SDK: sdk, Protocol: "mqtt3", Filters: filters})
	offline := rec.Process(history.Process{Name: "offline-1", ClientID: "offline-1", Group: "offline", SDK: sdk, Protocol: "mqtt3", Filters: filters})
	r.phase("load", 0)
	for _, p := range append(publishers[:], online, offline) {
		r.connect(p, 100*time.Millisecond, false)
	}
	for _, p := range []int32{online, offline} {
		r.subscribe(p, "work/#", 200*time.Millisecond)
	}
	r.point(offline, history.KindDisconnect, 300*time.Millisecond)
	r.phase("steady", x.at(0))
	r.traffic(x, streams[:], publishers[:], online)
	r.phase("drain", x.at(1.05))
	r.connect(offline, x.at(1.1), !x.Lossy)
	r.subscribe(offline, "work/#", x.at(1.1)+5*time.Millisecond)
	r.backlog(x, streams[:], offline)
	for _, p := range append(publishers[:], online, offline) {
		wrote, end := float64(r.events[p]), x.at(1.6)
		if x.Lossy {
			end += 30 * time.Second // it is waited for what does not come
		}
		r.record(history.Event{Time: end, Process: p, Kind: history.KindEnd, Value: wrote})
		r.record(history.Event{Time: end, Process: p, Kind: history.KindObserve, Text: history.ObserveDriverLines, Value: wrote})
	}
	if x.Open {
		must(t, rec.Sync())
		t.Cleanup(func() { rec.Close() })
		return
	}
	must(t, rec.Close())
}

func (x Run) count() int64 { return int64(x.Seconds * float64(x.Rate)) }

func (x Run) sent(seq int64) time.Duration {
	return x.at(0) + time.Duration(seq)*time.Second/time.Duration(x.Rate)
}

// traffic publishes, and delivers to the subscriber that is online. While the
// broker is down nothing is acknowledged; what was called then is sent again
// when it is back.
func (r *recording) traffic(x Run, streams, publishers []int32, online int32) {
	fault, healed := false, false
	for seq := range x.count() {
		for i, stream := range streams {
			at := x.sent(seq)
			acked := at + time.Duration(400+r.random.IntN(900))*time.Microsecond
			if !fault && at >= x.killed() {
				fault = true
				r.phase("fault", x.killed())
			}
			if !healed && at >= x.back() {
				healed = true
				r.phase("recovery", x.back())
			}
			if at >= x.killed()-time.Millisecond && at < x.back() {
				acked = x.back() + time.Duration(10+r.random.IntN(200))*time.Millisecond
			}
			r.publish(publishers[i], stream, seq, at, acked, seq == x.count()-1)
			r.deliver(online, stream, seq, acked+300*time.Microsecond, seq == x.count()-1)
		}
	}
}

// backlog is what the offline subscriber gets when it comes back.
func (r *recording) backlog(x Run, streams []int32, offline int32) {
	at := x.at(1.1) + 10*time.Millisecond
	for seq := range x.count() {
		for _, stream := range streams {
			if x.Lossy && x.sent(seq) < x.killed()-time.Millisecond {
				continue
			}
			at += 50 * time.Microsecond
			r.deliver(offline, stream, seq, at, seq == x.count()-1)
		}
	}
}

func (r *recording) record(e history.Event) int64 {
	if e.Edge != history.Return {
		e.Call = history.None
	}
	if e.Kind != history.KindPublish && e.Kind != history.KindDeliver {
		e.Stream, e.Seq = history.None, history.None
	}
	e.ID, e.Via = history.None, history.ViaDriver
	if e.Process == history.None {
		e.Via, e.Node = history.ViaHarness, history.None
	}
	r.events[e.Process]++
	return r.Record(e)
}

func (r *recording) phase(name string, at time.Duration) {
	r.record(history.Event{Time: at, Process: history.None, Kind: history.KindPhase, Text: name})
}

func (r *recording) point(p int32, kind history.Kind, at time.Duration) {
	r.record(history.Event{Time: at, Process: p, Kind: kind})
}

func (r *recording) connect(p int32, at time.Duration, present bool) {
	call := r.record(history.Event{Time: at, Process: p, Kind: history.KindConnect, Edge: history.Call})
	e := history.Event{Time: at + time.Millisecond, Process: p, Kind: history.KindConnect, Edge: history.Return, Call: call, Outcome: history.OK}
	if present {
		e.Flags = history.FlagSessionPresent
	}
	r.record(e)
}

func (r *recording) subscribe(p int32, filter string, at time.Duration) {
	call := r.record(history.Event{Time: at, Process: p, Kind: history.KindSubscribe, Edge: history.Call, Text: filter})
	r.record(history.Event{Time: at + time.Millisecond, Process: p, Kind: history.KindSubscribe, Edge: history.Return, Call: call, Outcome: history.OK, Reason: 1, Text: filter})
}

func (r *recording) publish(p, stream int32, seq int64, at, acked time.Duration, end bool) {
	e := history.Event{Time: at, Process: p, Kind: history.KindPublish, Edge: history.Call, QoS: 1, Stream: stream, Seq: seq}
	if end {
		e.Flags = history.FlagEnd
	}
	e.Call = r.record(e)
	e.Time, e.Edge, e.Outcome = acked, history.Return, history.OK
	r.record(e)
}

func (r *recording) deliver(p, stream int32, seq int64, at time.Duration, end bool) {
	e := history.Event{Time: at, Process: p, Kind: history.KindDeliver, QoS: 1, Stream: stream, Seq: seq}
	if end {
		e.Flags = history.FlagEnd
	}
	r.record(e)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
