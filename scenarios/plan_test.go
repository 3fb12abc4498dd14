package scenarios

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/checker"
	"github.com/robustmq/rmq-mcp/internal/history"
)

type fakeTables struct{ history.Tables }

func (f *fakeTables) Process(p history.Process) int32 {
	f.Processes = append(f.Processes, p)
	return int32(len(f.Processes) - 1)
}

func (f *fakeTables) Stream(s history.Stream) int32 {
	f.Streams = append(f.Streams, s)
	return int32(len(f.Streams) - 1)
}

func TestPlan(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", sdk: "go/x@1", protocol: "mqtt5", endpoints: []string{"a:1", "b:1", "c:1"}, rate: 30}
	plan := p.plan(Workload{
		Publishers: 2, Streams: 2, QoS: []uint8{0, 1}, PayloadBytes: 128, MaxInflight: 4, SlowMS: 7,
		Subscribers: Subscribers{Online: 3, Offline: 1, Paused: 1, Slow: 1},
	})
	if got := len(plan.publishers.Clients); got != 2 {
		t.Errorf("%d publishers, want 2", got)
	}
	if got := len(rec.Streams); got != 8 {
		t.Errorf("%d streams, want 2 publishers x 2 QoS x 2", got)
	}
	if got := len(plan.guaranteed); got != 4 {
		t.Errorf("%d streams with a guarantee, want those of QoS 1", got)
	}
	subs := map[string]contract.Client{}
	ids := map[string]bool{}
	for _, c := range append(plan.publishers.Clients, plan.subscribers.Clients...) {
		row := rec.Processes[c.Process]
		subs[row.Name] = c
		if ids[c.ClientID] || len(c.ClientID) > 23 {
			t.Errorf("client id %q is taken, or longer than MQTT 3.1 allows", c.ClientID)
		}
		ids[c.ClientID] = true
		if c.Clean || c.ExpiryS != sessionExpiryS {
			t.Errorf("%s does not keep its session: %+v", row.Name, c)
		}
	}
	if diff := cmp.Diff([]string{"b:1", "c:1", "a:1"}, subs["online-2"].Endpoints); diff != "" {
		t.Errorf("online-2 does not begin at the second node: %s", diff)
	}
	if subs["slow-1"].DelayMS != 7 || subs["online-1"].DelayMS != 0 {
		t.Error("only the slow one is slow")
	}
	if subs["paused-1"].KeepAliveS <= subs["online-1"].KeepAliveS {
		t.Error("a paused client that sends no pings loses its connection")
	}
	if rate := subs["publisher-1"].Publish.RatePerS; rate != 15 {
		t.Errorf("rate %g of one publisher, want half of 30", rate)
	}
}

// Subscribers hear the whole workload and nothing of the probes, and probes
// hear each other.
func TestPlanTopics(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt3", endpoints: []string{"a:1", "b:1"}, rate: 1}
	plan := p.plan(Workload{Publishers: 1, Streams: 1, QoS: []uint8{1}, Subscribers: Subscribers{Online: 1}})
	work := plan.publishers.Clients[0].Publish.Streams[0].Topic
	heard := plan.subscribers.Clients[0].Subscribe[0].Filter
	probe, other := p.probe(plan, 0), p.probe(plan, 1)
	for _, test := range []struct {
		filter, topic string
		want          bool
	}{
		{heard, work, true},
		{heard, probe.Publish.Streams[0].Topic, false},
		{probe.Subscribe[0].Filter, other.Publish.Streams[0].Topic, true},
		{probe.Subscribe[0].Filter, work, false},
	} {
		if got := checker.Matches(test.filter, test.topic); got != test.want {
			t.Errorf("%s matches %s: %v", test.filter, test.topic, got)
		}
	}
	if len(probe.Endpoints) != 1 || probe.Endpoints[0] != "a:1" || !probe.Clean {
		t.Errorf("a probe speaks to its own node alone, on a clean session: %+v", probe)
	}
}
