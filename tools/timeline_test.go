package tools

import (
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// The traffic of our own probes is none of the clients', and a publish of QoS 0 has no
// acknowledgement that takes long.
func TestTimelineIsOfTheClients(t *testing.T) {
	publish := func(at time.Duration, edge history.Edge, of int64, process int32, qos uint8) history.Event {
		return history.Event{Time: at, Kind: history.KindPublish, Edge: edge, Call: of, Process: process, QoS: qos, Outcome: history.OK}
	}
	lost := publish(7*time.Millisecond, history.Return, 3, 1, 1)
	lost.Outcome = history.Info
	x := traffic{grain: fineGrain, open: map[int64]time.Duration{},
		tables: &history.Tables{Processes: []history.Process{{Name: "publisher-1", Group: history.GroupPublisher}, {Name: "probe-1", Group: history.GroupProbe}}}}
	x.add(history.BatchOf(nil, []history.Event{
		{Process: history.None, Kind: history.KindPhase, Text: history.PhaseRecovery},
		publish(1*time.Millisecond, history.Call, 0, 0, 1),
		publish(2*time.Millisecond, history.Call, 0, 0, 0),
		publish(3*time.Millisecond, history.Call, 0, 1, 1),
		publish(4*time.Millisecond, history.Return, 2, 0, 0),
		publish(6*time.Millisecond, history.Return, 1, 0, 1),
		lost,
		{Time: 8 * time.Millisecond, Process: 1, Kind: history.KindDeliver},
		{Time: 9 * time.Millisecond, Process: 0, Kind: history.KindDeliver},
	}))
	if b := x.buckets[0]; b.called != 2 || b.acked != 2 || b.unknown != 0 || b.delivered != 1 || len(b.latencies) != 1 || b.latencies[0] != 5 {
		t.Errorf("%+v", b)
	}
}
