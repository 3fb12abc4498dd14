package clients_test

import (
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// Each connection has a will of its own. The will is published if the connection is
// lost, and only then. The history says which will each connection has.
func TestWills(t *testing.T) {
	everyDriverThat(t, func(s clients.SDK) bool { return s.Wills }, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		p := newProxy(t, at)
		const sub, willing, stream = 0, 1, 0
		c := client(willing, protocol, p.address)
		c.Start = "connected"
		c.Will = &contract.Will{Stream: stream, Topic: "t/will", QoS: 1, PayloadBytes: 120}
		r := start(t, program, 1, subscriber(sub, protocol, at), c)
		r.wait(t, "subscription", 1, and(is(sub, history.KindSubscribe, history.Return), ok))
		connected := and(is(willing, history.KindConnect, history.Return), ok)
		r.wait(t, "the first connection", 1, connected)
		r.do(t, "reconnect", willing)
		r.wait(t, "the second connection", 2, connected)
		// A client that is back before nats-server has seen its connection end takes
		// itself over, whereupon its will is forgotten (docs/conformance.md).
		letBack := p.cutOff(t)
		r.wait(t, "a will", 1, is(sub, history.KindDeliver, history.Point))
		letBack()
		r.wait(t, "the connection after the cut", 3, connected)
		r.do(t, "end", willing)
		r.finish(t)

		var lets, ends []history.Event // connections, and their ends, in order
		for _, e := range r.all() {
			switch {
			case e.Kind == history.KindDriver:
				t.Log(e.Text)
			case e.Process == willing && connected(e):
				lets = append(lets, e)
			case e.Process == willing && e.Kind == history.KindDisconnect:
				ends = append(ends, e)
			}
		}
		if len(lets) != 3 || len(ends) != 3 {
			t.Fatalf("%d connections, %d ends", len(lets), len(ends))
		}
		for i, e := range lets {
			if e.Stream != stream || i > 0 && e.Seq <= lets[i-1].Seq {
				t.Errorf("connection %d has will %d of stream %d", i, e.Seq, e.Stream)
			}
			if left := ends[i].Outcome == history.OK; left != (i != 1) {
				t.Errorf("connection %d ended by DISCONNECT: %v", i, left)
			}
		}
		for _, e := range r.all() {
			if e.Kind == history.KindDeliver && (e.Stream != stream || e.Seq != lets[1].Seq || e.Flags.Has(history.FlagCorrupt|history.FlagForeign)) {
				t.Errorf("delivered: %+v, want will %d", e, lets[1].Seq)
			}
		}
	})
}
