package reports

import (
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// An example describes a message by the record of its delivery if there is one.
// Otherwise it uses the wire's record rather than nothing.
func TestExamplesSayHowAMessageCame(t *testing.T) {
	tables := &history.Tables{
		Nodes:     []history.Node{{Name: "node-1"}, {Name: "node-2"}},
		Processes: []history.Process{{Name: "pub"}, {Name: "sub"}, {Name: "box", Protocol: "mq9"}},
		Streams:   []history.Stream{{Topic: "a/b"}},
	}
	row := func(e history.Event) history.Event { e.Stream, e.Seq = 0, 7; return e }
	recorded := []history.Event{
		row(history.Event{Kind: history.KindPublish, Edge: history.Call, Process: 0, Node: 0, ID: 3, QoS: 2}),
		row(history.Event{Kind: history.KindPacket, Via: history.ViaTap, Text: history.PacketPublish, Flags: history.FlagToClient | history.FlagDup, Process: 1, Node: 1, ID: 40, QoS: 1}),
		row(history.Event{Kind: history.KindPacket, Via: history.ViaTap, Text: history.PacketPuback, Process: 1, Node: 1, ID: 40}),
		row(history.Event{Kind: history.KindDeliver, Process: 2, Node: 0, ID: 1234, QoS: history.None & 3}),
	}
	seen := rows{}
	for i, e := range recorded {
		e.Index = int64(i)
		seen[e.Index] = e
	}
	anomaly := func(events ...int64) verdict.Anomaly {
		return verdict.Anomaly{Stream: 0, Seq: 7, Events: events}
	}
	if e := seen.example(anomaly(0, 1, 2), tables); e.Topic != "a/b" || *e.Seq != 7 || e.Node != "node-2" || *e.PacketID != 40 || *e.QoS != 1 || !e.Dup {
		t.Errorf("of one that was delivered: %+v", e)
	}
	if e := seen.example(anomaly(0), tables); e.Node != "node-1" || *e.PacketID != 3 || e.QoS != nil || e.Dup {
		t.Errorf("of one that was only published: %+v", e)
	}
	if e := seen.example(anomaly(3), tables); e.PacketID != nil || e.QoS != nil {
		t.Errorf("of mq9: %+v", e)
	}
	if e := seen.example(verdict.Anomaly{Stream: 9, Seq: history.None, Events: []int64{99}}, tables); e.Topic != "" || e.Seq != nil || e.Node != "" {
		t.Errorf("of nothing known: %+v", e)
	}
}
