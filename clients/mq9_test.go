package clients_test

import (
	"bufio"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// everyMQ9Driver runs a test with each SDK of the catalogue that speaks mq9, and
// can all that is needed.
func everyMQ9Driver(t *testing.T, test func(t *testing.T, program clients.Program), needs ...string) {
	t.Parallel()
	for _, sdk := range tested() {
		cannot := func(word string) bool { return slices.Contains(sdk.Cannot, word) }
		if !sdk.Speaks(contract.MQ9) || cannot(contract.CannotProtocol) || slices.ContainsFunc(needs, cannot) {
			continue
		}
		t.Run(strings.ReplaceAll(sdk.String(), "/", "-"), func(t *testing.T) {
			t.Parallel()
			test(t, provision(t, sdk))
		})
	}
}

// mq9Broker is the address of a NATS server with the embedded mq9.
func mq9Broker(t testing.TB) string {
	t.Helper()
	s, err := server.NewServer(&server.Options{
		ServerName: "n1", Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true, JetStream: true, StoreDir: t.TempDir(),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(hosttest.Bound) {
		t.Fatalf("nats-server is not ready after %v", hosttest.Bound)
	}
	inside, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(inside.Close)
	if _, err := mq9.Serve(inside, mq9.Subjects, 1, func() bool { return true }, ""); err != nil {
		t.Fatal(err)
	}
	return s.Addr().String()
}

func consumer(process int32, endpoints ...string) contract.Client {
	c := client(process, contract.MQ9, endpoints...)
	c.Start = "connected"
	c.Subscribe = []contract.Filter{{Filter: "t.one", QoS: 1}, {Filter: "t.two", QoS: 1}}
	return c
}

// sender sends count messages to each of two mailboxes.
func sender(process, first int32, count int64, endpoints ...string) contract.Client {
	c := client(process, contract.MQ9, endpoints...)
	c.Publish = &contract.Publish{
		Streams: []contract.Stream{
			{Stream: first, Topic: "t.one", QoS: 1}, {Stream: first + 1, Topic: "t.two", QoS: 1, Priority: "urgent"},
		},
		Count: 2 * count, RatePerS: 500, PayloadBytes: 200, MaxInflight: 10,
	}
	return c
}

func TestTheNextEndpointOfMQ9(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		at := mq9Broker(t)
		nowhere := freeAddress(t) // after the broker has its own
		r := start(t, program, 4, consumer(0, nowhere, nowhere, at), sender(1, 0, 5, nowhere, at))
		r.wait(t, "mailboxes", 2, and(is(0, history.KindSubscribe, history.Return), ok))
		r.do(t, "connect", 1)
		r.wait(t, "deliveries after attempts that failed", 10, delivered(0, 0))
		tried := map[int64]string{}
		for _, e := range r.all() {
			switch {
			case is(0, history.KindConnect, history.Call)(e):
				tried[e.Index] = e.Text
			case is(0, history.KindConnect, history.Return)(e) && ok(e) != (tried[e.Call] == at):
				t.Errorf("an attempt at %s of %s and %s: %+v", tried[e.Call], nowhere, at, e)
			}
		}
		r.finish(t)
	})
}

func TestTheContractOfMQ9(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		at := mq9Broker(t)
		const online, offline, first, second = 0, 1, 2, 3
		r := start(t, program, 4, consumer(online, at), consumer(offline, at), sender(first, 0, 20, at), sender(second, 2, 5, at))

		t.Log("two groups; one goes offline")
		r.wait(t, "online has its mailboxes", 2, and(is(online, history.KindSubscribe, history.Return), ok))
		r.wait(t, "offline has its mailboxes", 2, and(is(offline, history.KindSubscribe, history.Return), ok))
		r.do(t, "disconnect", offline)
		r.wait(t, "offline is disconnected", 1, is(offline, history.KindDisconnect, history.Point))

		t.Log("what is sent is acknowledged, with its id, and delivered")
		r.do(t, "connect", first)
		acked := and(is(first, history.KindPublish, history.Return), ok)
		r.wait(t, "acknowledgements", 40, acked)
		r.wait(t, "deliveries", 40, delivered(online, 0))
		r.wait(t, "acknowledgements of deliveries", 1, is(online, history.KindAck, history.Point))
		ids := map[int64]int64{}
		for _, e := range r.all() {
			if acked(e) {
				ids[int64(e.Stream)<<32|e.Seq] = e.ID
			}
		}
		for _, e := range r.all() {
			if id, known := ids[int64(e.Stream)<<32|e.Seq]; e.Kind == history.KindDeliver && known && id != e.ID {
				t.Errorf("delivered with id %d, acknowledged with %d: %+v", e.ID, id, e)
			}
		}

		t.Log("the offline group comes back")
		r.do(t, "connect", offline)
		r.wait(t, "deliveries of the group", 40, delivered(offline, 0))

		t.Log("a paused consumer gets nothing until it is resumed")
		r.do(t, "pause", online)
		r.wait(t, "pause", 1, is(online, history.KindPause, history.Point))
		before := r.count(delivered(online, 2))
		r.do(t, "connect", second)
		r.wait(t, "deliveries to who is not paused", 10, delivered(offline, 2))
		if n := r.count(delivered(online, 2)); n != before {
			t.Errorf("%d deliveries to a consumer that is paused", n-before)
		}
		r.do(t, "resume", online)
		r.wait(t, "deliveries after the pause", 10, delivered(online, 2))

		t.Log("reconnect")
		r.do(t, "reconnect", online)
		r.wait(t, "second connection", 2, and(is(online, history.KindConnect, history.Return), ok))

		t.Log("a sender ends with a marker on each stream")
		r.do(t, "end", first)
		r.do(t, "end", second)
		r.wait(t, "end markers", 4, and(is(online, history.KindDeliver, history.Point), end))
		r.wait(t, "end markers", 4, and(is(offline, history.KindDeliver, history.Point), end))
		r.finish(t)
		checkHistory(t, r.all())
	})
}

func TestTheFirstMessageOfMQ9IsPutOff(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		at := mq9Broker(t)
		putOff(t, program, sender(0, 0, 1, at), sender(1, 2, 1, at), consumer(2, at))
	})
}

func TestMQ9AcrossLostConnections(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		at := mq9Broker(t)
		p := newProxy(t, at)
		const sub, pub = 0, 1
		r := start(t, program, 2, consumer(sub, p.address), sender(pub, 0, 1<<30, p.address))
		r.wait(t, "mailboxes", 2, and(is(sub, history.KindSubscribe, history.Return), ok))
		r.do(t, "connect", pub)
		acked := and(is(pub, history.KindPublish, history.Return), ok)
		for cut := range 3 {
			r.wait(t, "connection", cut+1, and(is(pub, history.KindConnect, history.Return), ok))
			r.wait(t, "acknowledgements", r.count(acked)+20, acked)
			p.cut()
			r.wait(t, "the lost connection", cut+1, is(pub, history.KindDisconnect, history.Point))
		}
		r.do(t, "end", pub)
		r.wait(t, "end markers", 2, and(is(sub, history.KindDeliver, history.Point), end))
		r.finish(t)
		arrived := map[int64]bool{}
		for _, e := range r.all() {
			if e.Kind == history.KindDeliver {
				arrived[int64(e.Stream)<<32|e.Seq] = true
			}
		}
		for _, e := range r.all() {
			if acked(e) && !arrived[int64(e.Stream)<<32|e.Seq] {
				t.Errorf("acknowledged and never delivered: %+v", e)
			}
		}
		checkHistory(t, r.all())
	})
}

func TestNoMQ9AcknowledgementOutOfThinAir(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		const pub = 0
		r := start(t, program, 2, sender(pub, 0, 50, muteNATS(t)))
		r.do(t, "connect", pub)
		r.wait(t, "unknown outcomes", 3, func(e history.Event) bool {
			return is(pub, history.KindPublish, history.Return)(e) && e.Outcome == history.Info
		})
		if n := r.count(and(is(pub, history.KindPublish, history.Return), ok)); n != 0 {
			t.Errorf("%d sends are ok; the broker answered none", n)
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
}

// muteNATS greets clients, answers their pings, and nothing else.
func muteNATS(t testing.TB) string {
	t.Helper()
	return listener(t, 60*time.Second, func(conn net.Conn) {
		greet(conn, "")
		for lines := bufio.NewReader(conn); pong(lines, conn); {
		}
	})
}

// Servers that a broker names are none that a driver may connect to.
func TestOnlyTheEndpointsGivenOfMQ9(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		var strayed atomic.Int64
		elsewhere := listener(t, time.Second, func(net.Conn) { strayed.Add(1) })
		leaves := listener(t, 60*time.Second, func(conn net.Conn) {
			greet(conn, fmt.Sprintf(`,"connect_urls":[%q]`, elsewhere))
			lines := bufio.NewReader(conn)
			pong(lines, conn)
			conn.SetDeadline(time.Now().Add(300 * time.Millisecond)) // in which a client is let in
			for pong(lines, conn) {
			}
		})
		r := start(t, program, 2, sender(0, 0, 1, leaves))
		r.do(t, "connect", 0)
		r.wait(t, "connections anew", 4, and(is(0, history.KindConnect, history.Return), ok))
		if n := strayed.Load(); n != 0 {
			t.Errorf("%d connections to %s, which only the broker named", n, elsewhere)
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
}

// greet is what a NATS server says first, with more fields.
func greet(conn net.Conn, more string) {
	fmt.Fprintf(conn, `INFO {"server_id":"mute","version":"2.10.0","proto":1,"headers":true,"max_payload":1048576%s}`+"\r\n", more)
}

// pong reads up to a PING and replies to it. It reports whether there was one.
func pong(lines *bufio.Reader, conn net.Conn) bool {
	for {
		line, err := lines.ReadString('\n') // each payload ends with one
		if err != nil {
			return false
		}
		if strings.HasSuffix(line, "PING\r\n") {
			_, err := conn.Write([]byte("PONG\r\n"))
			return err == nil
		}
	}
}

// A driver that says when it fetches says so before the deliveries, gives
// mailboxes and messages their time, and end markers none.
func TestFetchesAndTimesOfMQ9(t *testing.T) {
	everyMQ9Driver(t, func(t *testing.T, program clients.Program) {
		at := mq9Broker(t)
		const sub, pub = 0, 1
		c, p := consumer(sub, at), sender(pub, 0, 5, at)
		c.Subscribe[0].TTLS = 1
		p.Publish.Streams[0].Unmarked = true
		p.Publish.Streams[1].TTLS = 3600
		p.Publish.Count = 0
		p.Publish.RatePerS = 20
		r := start(t, program, 2, c, p)
		r.wait(t, "mailboxes", 2, and(is(sub, history.KindSubscribe, history.Return), ok))
		r.do(t, "connect", pub)
		sent := is(pub, history.KindPublish, history.Return)
		r.wait(t, "deliveries from the mailbox that lasts", 5, delivered(sub, 1))
		r.wait(t, "sends to the mailbox that is over", 1, func(e history.Event) bool {
			return sent(e) && e.Stream == 0 && e.Outcome == history.Fail && strings.Contains(e.Text, "does not exist")
		})
		r.wait(t, "fetches from it", 1, func(e history.Event) bool {
			return is(sub, history.KindFetch, history.Return)(e) && e.Outcome == history.Fail && strings.Contains(e.Text, "does not exist")
		})
		r.do(t, "end", pub)
		r.wait(t, "the one end marker", 1, and(is(sub, history.KindDeliver, history.Point), end))
		r.finish(t)
		if n := r.count(and(is(pub, history.KindPublish, history.Call), end)); n != 1 {
			t.Errorf("%d end markers were sent, want 1: a stream that is unmarked gets none", n)
		}
		var left int64
		for _, e := range r.all() {
			switch {
			case is(sub, history.KindFetch, history.Return)(e):
				if left != 0 {
					t.Errorf("%d messages of an answer were not delivered before %+v", left, e)
				}
				left = max(e.ID, 0)
			case is(sub, history.KindDeliver, history.Point)(e):
				left--
			}
			if left < 0 {
				t.Errorf("a delivery that is in no answer: %+v", e)
			}
		}
		checkHistory(t, r.all())
	}, contract.CannotFetch)
}
