package reports

import (
	"strings"
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

// A list that has no room for all says so.
func TestMarkdownSaysWhatIsCut(t *testing.T) {
	const panics, examples = "There are more places: the nodes' logs have them.", "the first 100 of a claim, and of 1 line none is among them."
	r := Report{PanicsCut: true, Panics: []Panic{{Message: "boom", Count: 1}}, Violations: []Violations{
		{Claim: "qos1-no-loss", Client: "online-1", Count: 200, Examples: []Example{{Text: "message 1"}}}, {Claim: "qos1-no-loss", Client: "online-2", Count: 1},
	}}
	page, err := Markdown(&r)
	must(t, err)
	for _, part := range []string{panics, examples} {
		if !strings.Contains(string(page), part) {
			t.Errorf("report.md does not say %q", part)
		}
	}
	r.PanicsCut, r.Violations = false, r.Violations[:1]
	page, err = Markdown(&r)
	must(t, err)
	if !strings.Contains(string(page), "the first 100 of a claim.") || strings.Contains(string(page), panics) {
		t.Error("report.md says that whole lists are cut")
	}
}
