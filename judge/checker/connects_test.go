package checker

import (
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A broker whose limits are not known may be full: it lets rmq-mcp in, and then refuses a client.
func TestFullBroker(t *testing.T) {
	external := map[string]string{history.LacksLimits: "not known"}
	for _, test := range []struct {
		name     string
		protocol string
		reason   uint8
		lacks    map[string]string
		want     verdict.Status
		says     string
	}{
		{"quota exceeded", "mqtt5", 0x97, external, verdict.Unknown, `refused sub-2 with "quota exceeded"`},
		{"server busy", "mqtt5", 0x89, external, verdict.Unknown, "server busy"},
		{"server unavailable", "mqtt3", 3, external, verdict.Unknown, "server unavailable"},
		{"a client identifier that is not valid", "mqtt5", 0x85, external, verdict.Fail, "never let in"},
		{"a broker of ours", "mqtt5", 0x97, nil, verdict.Fail, "never let in"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wired()
			s.run.Cluster.Lacks, s.tables.Processes[other].Protocol = test.lacks, test.protocol
			s.join(sub).shutOut(other, 11*time.Second, "refused")
			s.toClient(other, "connack", 0, func(e *history.Event) { e.Reason = test.reason })
			r := judgeStory(t, s.letIn(0, "CONNECT, CONNACK", history.OK).finish(), "clients-connect").Results[0]
			if r.Status != test.want || !strings.Contains(r.Summary+said(r), test.says) {
				t.Errorf("%s, want %s: %s; %s", r.Status, test.want, r.Summary, said(r))
			}
		})
	}
}

// A library that sends CONNECT twice in one call may find the session of the first with the second.
func TestRepeatedConnect(t *testing.T) {
	for _, test := range []struct {
		name  string
		asked int
		want  verdict.Status
	}{
		{"asked once", 1, verdict.Fail},
		{"asked twice", 2, verdict.Unknown},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := wired()
			e := blank(history.KindConnect, sub)
			c := s.call(e)
			for range test.asked - 1 {
				s.wire(sub).conns++
				s.packet(sub, "connect", 0)
			}
			s.wireConnect(sub, true)
			e.Flags = history.FlagSessionPresent
			s.ret(e, c, history.OK)
			if r := judgeStory(t, s.finish(), "session-fresh").Results[0]; r.Status != test.want {
				t.Errorf("%s, want %s: %s; %s", r.Status, test.want, r.Summary, said(r))
			}
		})
	}
}
