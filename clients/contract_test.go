package clients_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

func client(process int32, protocol string, endpoints ...string) contract.Client {
	return contract.Client{
		Process: process, ClientID: "c" + string('0'+rune(process)), Endpoints: endpoints, Protocol: protocol,
		ExpiryS: 600, KeepAliveS: 60, ReconnectMS: 50, Start: "waiting",
	}
}

func subscriber(process int32, protocol string, endpoints ...string) contract.Client {
	c := client(process, protocol, endpoints...)
	c.Start = "connected"
	c.Subscribe = []contract.Filter{{Filter: "t/#", QoS: 2}}
	return c
}

// publisher publishes count messages on each of its streams, QoS 1 and 2.
func publisher(process int32, protocol string, first int32, count int64, endpoints ...string) contract.Client {
	c := client(process, protocol, endpoints...)
	c.Publish = &contract.Publish{
		Streams: []contract.Stream{{Stream: first, Topic: "t/one", QoS: 1}, {Stream: first + 1, Topic: "t/two", QoS: 2}},
		Count:   2 * count, RatePerS: 500, PayloadBytes: 200, MaxInflight: 10,
	}
	return c
}

// delivered matches messages, but no end markers, of two streams that arrived.
func delivered(process, first int32) func(history.Event) bool {
	return func(e history.Event) bool {
		return e.Process == process && e.Kind == history.KindDeliver && !end(e) && (e.Stream == first || e.Stream == first+1)
	}
}

func TestTheContract(t *testing.T) {
	everyDriver(t, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		const online, offline, first, second = 0, 1, 2, 3
		r := start(t, program, 4,
			subscriber(online, protocol, at), subscriber(offline, protocol, at),
			publisher(first, protocol, 0, 20, at), publisher(second, protocol, 2, 5, at))

		t.Log("hello says what the catalogue says")
		hello := r.Hello()
		got := clients.SDK{Package: hello.SDK, Version: hello.Version, Dedupes: hello.Dedupes, Cannot: hello.Cannot}
		want := clients.SDK{Package: sdk.Package, Version: sdk.Version, Dedupes: sdk.Dedupes, Cannot: sdk.Cannot}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Error(diff)
		}

		t.Log("two subscribers; one goes offline")
		r.wait(t, "online subscribes", 1, and(is(online, history.KindSubscribe, history.Return), ok))
		r.wait(t, "offline subscribes", 1, and(is(offline, history.KindSubscribe, history.Return), ok))
		r.do(t, "disconnect", offline)
		r.wait(t, "offline is disconnected", 1, is(offline, history.KindDisconnect, history.Point))

		t.Log("what is published is acknowledged and delivered")
		r.do(t, "connect", first)
		r.wait(t, "acknowledgements", 40, and(is(first, history.KindPublish, history.Return), ok))
		r.wait(t, "deliveries", 40, delivered(online, 0))
		if n := r.count(delivered(offline, 0)); n != 0 {
			t.Errorf("%d deliveries to a subscriber that is disconnected", n)
		}

		t.Log("the offline subscriber comes back to its session")
		r.do(t, "connect", offline)
		r.wait(t, "session", 1, func(e history.Event) bool {
			return is(offline, history.KindConnect, history.Return)(e) && e.Conn == 1 && e.Flags.Has(history.FlagSessionPresent)
		})
		r.wait(t, "deliveries of the session", 40, delivered(offline, 0))

		t.Log("a paused subscriber gets nothing until it is resumed")
		r.do(t, "pause", online)
		r.wait(t, "pause", 1, is(online, history.KindPause, history.Point))
		r.do(t, "connect", second)
		r.wait(t, "acknowledgements", 10, and(is(second, history.KindPublish, history.Return), ok))
		r.wait(t, "deliveries to who is not paused", 10, delivered(offline, 2))
		if n := r.count(delivered(online, 2)); n != 0 {
			t.Errorf("%d deliveries to a subscriber that is paused", n)
		}
		r.do(t, "resume", online)
		r.wait(t, "deliveries after the pause", 10, delivered(online, 2))

		t.Log("reconnect")
		r.do(t, "reconnect", online)
		r.wait(t, "second connection", 2, and(is(online, history.KindConnect, history.Return), ok))

		t.Log("a publisher ends with a marker on each stream")
		r.do(t, "end", first)
		r.do(t, "end", second)
		marker := func(process int32) func(history.Event) bool {
			return and(is(process, history.KindDeliver, history.Point), end)
		}
		r.wait(t, "end markers", 4, marker(online))
		r.wait(t, "end markers", 4, marker(offline))
		r.finish(t)

		for process := range int32(4) {
			if n := r.count(is(process, history.KindEnd, history.Point)); n != 1 {
				t.Errorf("process %d ended %d times", process, n)
			}
		}
		checkHistory(t, r.all())
	})
}

// Clients that publish and subscribe on one connection finish publishing one after the other, and read
// what the others still publish.
func TestDuplex(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		both := []contract.Client{publisher(0, protocol, 0, 20, at), publisher(1, protocol, 2, 20, at)}
		for i := range both {
			both[i].Subscribe = []contract.Filter{{Filter: "t/#", QoS: 2}}
		}
		r := start(t, program, 4, both...)
		r.do(t, "pause", contract.All)
		r.do(t, "connect", contract.All)
		for process := range int32(2) {
			r.wait(t, "subscription", 1, and(is(process, history.KindSubscribe, history.Return), ok))
		}
		if n := r.count(func(e history.Event) bool { return e.Kind == history.KindPublish }); n != 0 {
			t.Errorf("%d publishes of clients that are paused", n)
		}
		r.do(t, "resume", contract.All)
		for process := range int32(2) {
			r.wait(t, "acknowledgements", 40, and(is(process, history.KindPublish, history.Return), ok))
		}
		for finished := range int32(2) {
			r.do(t, "finish", finished)
			for process := range int32(2) {
				r.wait(t, "end markers", 2*int(finished+1), and(is(process, history.KindDeliver, history.Point), end))
			}
		}
		for process := range int32(2) {
			for first := int32(0); first < 4; first += 2 {
				if n := r.count(delivered(process, first)); n < 40 {
					t.Errorf("process %d has %d messages of 40", process, n)
				}
			}
		}
		r.finish(t)
		if n := r.count(func(e history.Event) bool { return e.Kind == history.KindPublish && e.Edge == history.Call && end(e) }); n != 4 {
			t.Errorf("%d end markers on 4 streams", n)
		}
		checkHistory(t, r.all())
	})
}

// checkHistory is what holds of the history of any driver: what is in it is
// whole, of this run, and was called before.
func checkHistory(t *testing.T, events []history.Event) {
	t.Helper()
	type message struct {
		stream int32
		seq    int64
	}
	called := map[message]bool{}
	for _, e := range events {
		m := message{e.Stream, e.Seq}
		switch {
		case e.Kind == history.KindPublish && e.Edge == history.Call:
			called[m] = true
		case e.Flags.Has(history.FlagCorrupt) || e.Flags.Has(history.FlagForeign):
			t.Errorf("damaged: %+v", e)
		case e.Kind == history.KindDeliver && !called[m]:
			t.Errorf("delivered before it was called: %+v", e)
		case e.Kind == history.KindDeliver && e.Node != 0:
			t.Errorf("delivered by no node: %+v", e)
		case e.Kind == history.KindDriver && strings.Contains(e.Text, "broke"):
			t.Errorf("%s", e.Text)
		}
	}
}

func TestAcknowledgementsAcrossLostConnections(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		p := newProxy(t, at)
		const sub, pub = 0, 1
		producer := publisher(pub, protocol, 0, 0, p.address)
		producer.Publish.Streams = producer.Publish.Streams[:1] // QoS 1
		r := start(t, program, 1, subscriber(sub, protocol, at), producer)
		r.wire = p
		r.wait(t, "subscription", 1, and(is(sub, history.KindSubscribe, history.Return), ok))
		r.do(t, "connect", pub)
		acked := and(is(pub, history.KindPublish, history.Return), ok)
		for cut := range 3 {
			r.wait(t, "connection", cut+1, and(is(pub, history.KindConnect, history.Return), ok))
			r.wait(t, "acknowledgements", r.count(acked)+20, acked)
			p.cut()
			r.wait(t, "the lost connection", cut+1, is(pub, history.KindDisconnect, history.Point))
		}
		r.do(t, "end", pub)
		// A marker that the last cut took is followed by another. An SDK that the
		// cut has stalled, as it does Paho C now and then, closes without one.
		r.wait(t, "an acknowledged end marker, or the end", 1, func(e history.Event) bool {
			return acked(e) && end(e) || is(pub, history.KindDisconnect, history.Point)(e) && e.Conn >= 3
		})
		oks := slices.DeleteFunc(r.all(), func(e history.Event) bool { return !acked(e) })
		latest := oks[len(oks)-1].Seq
		r.wait(t, "what was acknowledged last", 1, and(is(sub, history.KindDeliver, history.Point), func(e history.Event) bool { return e.Seq == latest }))
		r.finish(t)
		r.unlessCorrupted(t)
		arrived := map[int64]bool{}
		for _, e := range r.all() {
			if e.Kind == history.KindDeliver {
				arrived[e.Seq] = true
			}
		}
		for _, e := range r.all() {
			if acked(e) && !arrived[e.Seq] {
				t.Errorf("acknowledged and never delivered: %+v", e)
			}
		}
		checkHistory(t, r.all())
	})
}

func TestNoAcknowledgementOutOfThinAir(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		const pub = 0
		r := start(t, program, 2, publisher(pub, protocol, 0, 50, mute(t, protocol)))
		r.do(t, "connect", pub)
		r.wait(t, "lost connections", 3, is(pub, history.KindDisconnect, history.Point))
		if n := r.count(and(is(pub, history.KindPublish, history.Return), ok)); n != 0 {
			t.Errorf("%d publishes are ok; the broker acknowledged none", n)
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
}

// A message that the broker took by PUBREC may have effect, whatever its PUBCOMP says.
func TestAPubcompThatKnowsNoSuchPacket(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		if protocol != contract.MQTT5 {
			return
		}
		p := publisher(0, protocol, 0, 1, forgetful(t))
		p.Publish.Streams, p.Publish.Count = []contract.Stream{{Topic: "t/two", QoS: 2}}, 1
		r := start(t, program, 1, p)
		r.do(t, "connect", 0)
		returned := is(0, history.KindPublish, history.Return)
		r.wait(t, "the publish to return", 1, returned)
		if n := r.count(and(returned, func(e history.Event) bool { return e.Outcome == history.Fail })); n != 0 {
			t.Error("the publish is said to have had no effect")
		}
		r.Close()
	})
}

// A client whose connection ends right after CONNACK notices it, and comes back.
func TestAConnectionThatEndsAtOnce(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		r := start(t, program, 0, publisher(0, protocol, 0, 0, brusque(t, protocol)))
		r.do(t, "connect", 0)
		returned := is(0, history.KindConnect, history.Return)
		r.wait(t, "the first connect to return", 1, returned) // a library may have read CONNACK or not
		first := r.all()[slices.IndexFunc(r.all(), returned)].Index
		r.wait(t, "a connection after that", 1, and(returned, and(ok, func(e history.Event) bool { return e.Index > first })))
		r.Close()
	})
}

// A topic that is no UTF-8 [MQTT-3.3.2-1] is delivered, or ends the connection, as the library has
// it. It ends no driver.
func TestATopicThatIsNoUTF8(t *testing.T) {
	everyDriver(t, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		r := start(t, program, 0, subscriber(0, protocol, garbling(t, protocol)))
		delivers, ends := is(0, history.KindDeliver, history.Point), is(0, history.KindDisconnect, history.Point)
		if sdk.Package == "org.eclipse.paho.client.mqttv3" { // its receiver ends, and it stays connected
			r.wait(t, "subscription", 1, and(is(0, history.KindSubscribe, history.Return), ok))
			r.do(t, "disconnect", 0)
		}
		r.wait(t, "a delivery, or the end of the connection", 1, func(e history.Event) bool { return ends(e) || delivers(e) })
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
}

// No subscription of a session that is gone is taken for one of the next session, also
// where its connection ended before SUBACK.
func TestSubscriptionsOfALostSession(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at, filters := losing(t, protocol)
		c := subscriber(0, protocol, at)
		c.Subscribe = []contract.Filter{{Filter: "t/one", QoS: 1}, {Filter: "t/two", QoS: 1}}
		r := start(t, program, 0, c)
		missing := map[string]bool{"t/one": true, "t/two": true}
		for len(missing) > 0 {
			select {
			case filter := <-filters:
				delete(missing, filter)
			case <-time.After(20 * time.Second):
				t.Fatalf("the session is not asked for %v", missing)
			}
		}
		r.Close()
	})
}

func TestTheNextEndpoint(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		nowhere := freeAddress(t) // after the broker has its own
		r := start(t, program, 0, subscriber(0, protocol, nowhere, at))
		r.wait(t, "subscription", 1, and(is(0, history.KindSubscribe, history.Return), ok))
		var tried []string
		for _, e := range r.all() {
			if is(0, history.KindConnect, history.Call)(e) {
				tried = append(tried, e.Text)
			}
		}
		if diff := cmp.Diff([]string{nowhere, at}, tried); diff != "" {
			t.Error(diff)
		}
		r.finish(t)
	})
}

func TestRegisters(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		at := broker(t, protocol)
		const writer, reader = 0, 1
		w := client(writer, protocol, at)
		w.Publish = &contract.Publish{
			Streams: []contract.Stream{{Stream: 0, Topic: "r/a", QoS: 1, Retain: true}}, Count: 3, MaxInflight: 1, PayloadBytes: 100,
		}
		rd := client(reader, protocol, at)
		rd.ReadRegisters = &contract.ReadRegisters{Topics: []string{"r/a", "r/b"}, EveryMS: 10, WaitMS: 200}
		r := start(t, program, 1, w, rd)
		r.do(t, "connect", writer)
		r.wait(t, "writes", 3, and(is(writer, history.KindPublish, history.Return), ok))
		r.do(t, "connect", reader)
		read := func(seq int64) func(history.Event) bool {
			return func(e history.Event) bool {
				return is(reader, history.KindFetch, history.Return)(e) && ok(e) && e.Seq == seq
			}
		}
		r.wait(t, "reads of r/a", 2, read(2))
		r.wait(t, "reads of r/b, which is empty", 2, read(history.None))
		r.finish(t)
	})
}

// A broker may send what it has before it answers SUBSCRIBE [MQTT 3.1.1, 3.8.4]:
// the retained message of a topic that is busy comes among many.
func TestARegisterAmongManyMessages(t *testing.T) {
	everyDriver(t, func(t *testing.T, _ clients.SDK, program clients.Program, protocol string) {
		const reader = 0
		rd := client(reader, protocol, busy(t, protocol, "r/a", 200))
		rd.ReadRegisters = &contract.ReadRegisters{Topics: []string{"r/a"}, EveryMS: 10, WaitMS: 20_000}
		r := start(t, program, 1, rd)
		r.do(t, "connect", reader)
		read := and(is(reader, history.KindFetch, history.Return), ok)
		r.wait(t, "a read", 1, read)
		if empty := r.count(and(read, func(e history.Event) bool { return !e.Flags.Has(history.FlagForeign) })); empty > 0 {
			t.Error("the register is said to be empty")
		}
	})
}
