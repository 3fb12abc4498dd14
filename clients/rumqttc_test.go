package clients_test

import (
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// These tests check the rumqttc driver's claims about its SDK, on brokers that do
// just the thing that shows each claim.

// A play is a broker's side of one connection, after CONNECT.
type play func(*stage)

// scripted is a broker that plays one connection after the other, the last one
// again and again.
func scripted(t *testing.T, plays ...play) (address string) {
	t.Helper()
	var turn sync.Mutex
	n := 0
	return hosttest.Serve(t, func(conn net.Conn) {
		turn.Lock()
		defer turn.Unlock()
		s := &stage{Conn: conn}
		conn.SetDeadline(time.Now().Add(30 * time.Second))
		if _, is := s.read().(*packets.ConnectPacket); is {
			plays[min(n, len(plays)-1)](s)
		}
		n++
	})
}

// A stage is a connection on which a broker plays.
type stage struct{ net.Conn }

// read is nil when the connection is over.
func (s *stage) read() packets.ControlPacket {
	packet, err := packets.ReadPacket(s)
	if err != nil {
		return nil
	}
	return packet
}

func (s *stage) connack(sessionPresent bool) {
	ack := packets.NewControlPacket(packets.Connack).(*packets.ConnackPacket)
	ack.SessionPresent = sessionPresent
	ack.Write(s)
}

func (s *stage) puback(id uint16) {
	ack := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
	ack.MessageID = id
	ack.Write(s)
}

// publishes reads so many PUBLISH packets; fewer, where the connection ends.
func (s *stage) publishes(n int) (all []*packets.PublishPacket) {
	for len(all) < n {
		switch p := s.read().(type) {
		case nil:
			return all
		case *packets.PublishPacket:
			all = append(all, p)
		}
	}
	return all
}

// rest reads until the connection ends.
func (s *stage) rest() {
	for s.read() != nil {
	}
}

func everyRumqttc(t *testing.T, test func(t *testing.T, sdk clients.SDK, program clients.Program)) {
	rumqttc := func(sdk clients.SDK) bool { return sdk.Package == "rumqttc" }
	everyDriverThat(t, rumqttc, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		if protocol == contract.MQTT3 {
			test(t, sdk, program)
		}
	})
}

func TestRumqttcResendsWithoutDup(t *testing.T) {
	everyRumqttc(t, func(t *testing.T, _ clients.SDK, program clients.Program) {
		sent := make(chan *packets.PublishPacket, 2)
		at := scripted(t, func(s *stage) {
			s.connack(false)
			sent <- s.publishes(1)[0]
		}, func(s *stage) {
			s.connack(true)
			again := s.publishes(1)[0]
			sent <- again
			s.puback(again.MessageID)
			s.rest()
		})
		p := publisher(0, contract.MQTT3, 0, 1, at)
		p.Publish.Streams, p.Publish.Count = p.Publish.Streams[:1], 1
		r := start(t, program, 0, p)
		r.do(t, "connect", 0)
		r.wait(t, "acknowledgement", 1, func(e history.Event) bool {
			return is(0, history.KindPublish, history.Return)(e) && e.Outcome == history.Info
		})
		first, again := <-sent, <-sent
		if again.MessageID != first.MessageID || string(again.Payload) != string(first.Payload) || again.Dup {
			t.Errorf("sent %v, then %v", first, again)
		}
		r.Close()
	})
}

func TestRumqttcDropsWhatItHasWhereTheSessionIsGone(t *testing.T) {
	everyRumqttc(t, func(t *testing.T, sdk clients.SDK, program clients.Program) {
		const inflight, queued = 100, 10 // of the SDK: its defaults
		called, resent := make(chan struct{}), make(chan int, 100)
		at := scripted(t, func(s *stage) {
			s.connack(false)
			s.publishes(inflight)
			<-called
		}, func(s *stage) {
			s.connack(false)
			resent <- len(s.publishes(1))
		})
		p := publisher(0, contract.MQTT3, 0, 1<<30, at)
		p.Publish.Streams, p.Publish.RatePerS, p.Publish.MaxInflight = p.Publish.Streams[:1], 0, inflight+queued
		r := start(t, program, 0, p)
		r.do(t, "connect", 0)
		r.wait(t, "calls", inflight+queued, is(0, history.KindPublish, history.Call))
		close(called)
		if sdk.Version < "0.25" {
			if <-resent != 1 {
				t.Error("nothing was sent again")
			}
			r.Close()
			return
		}
		returned := func(outcome history.Outcome, text string) func(history.Event) bool {
			return and(is(0, history.KindPublish, history.Return), func(e history.Event) bool {
				return e.Outcome == outcome && strings.Contains(e.Text, text)
			})
		}
		r.wait(t, "publishes that were sent and dropped", inflight, returned(history.Info, "rumqttc dropped it"))
		r.wait(t, "publishes that were dropped unsent", queued, returned(history.Fail, "rumqttc dropped it unsent"))
		r.Close()
	})
}

func TestRumqttcEndsEachConnectionOnAPubrelOfAnEarlierOne(t *testing.T) {
	everyRumqttc(t, func(t *testing.T, _ clients.SDK, program clients.Program) {
		at := scripted(t, func(s *stage) {
			s.connack(false)
			subscribe, _ := s.read().(*packets.SubscribePacket)
			if subscribe == nil {
				return
			}
			ack := packets.NewControlPacket(packets.Suback).(*packets.SubackPacket)
			ack.MessageID, ack.ReturnCodes = subscribe.MessageID, []byte{2}
			ack.Write(s)
			message := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
			message.MessageID, message.Qos, message.TopicName, message.Payload = 1, 2, "t/x", []byte("once")
			message.Write(s)
			message.Dup = true
			message.Write(s)
			s.read() // PUBREC
			s.read()
		}, func(s *stage) {
			s.connack(true)
			release := packets.NewControlPacket(packets.Pubrel).(*packets.PubrelPacket)
			release.MessageID = 1
			release.Write(s)
			s.rest()
		})
		r := start(t, program, 0, subscriber(0, contract.MQTT3, at))
		t.Log("a message of QoS 2 that comes twice is delivered twice")
		r.wait(t, "deliveries", 2, is(0, history.KindDeliver, history.Point))
		t.Log("no connection outlives the PUBREL, which stays unanswered")
		r.wait(t, "connections that ended with it", 3, and(is(0, history.KindDisconnect, history.Point), func(e history.Event) bool {
			return strings.Contains(e.Text, "nsolicited")
		}))
		r.Close()
	})
}
