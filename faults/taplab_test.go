package faults

import (
	"bytes"
	"context"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A tapLab is a broker of the test's own behind a real tap, and an engine.
type tapLab struct {
	t      *testing.T
	engine *Engine
	tap    *tap.Tap
	at     string
	broker *miniBroker
	driver *fakeDriver
	layer  Layer        // instead of a driver's
	online sync.Map     // client ids that say that they are connected
	ended  atomic.Int64 // connections, of all of them
}

func newTapLab(t *testing.T) *tapLab {
	l := &tapLab{t: t, tap: tap.New(tap.Options{}), broker: newMiniBroker(t), driver: &fakeDriver{}}
	var err error
	if l.at, err = l.tap.Listen("node-1", "127.0.0.1:0", l.broker.address); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.tap.Close() })
	clock := &rig{started: time.Now()}
	l.engine = NewEngine(Options{
		Settle: 700 * time.Millisecond, Recovery: 10 * time.Second, Poll: 20 * time.Millisecond,
		Journal: clock, Record: clock.record, Clock: clock, Decide: verdict.DecideLanding,
		Layer: func(name string) (Layer, error) {
			if name == "tap" {
				return NewTapLayer(l.tap), nil
			}
			if l.layer != nil {
				return l.layer, nil
			}
			return NewDriverLayer(l.driver), nil
		},
	})
	return l
}

// clients is the target of that name.
func (l *tapLab) clients() Target {
	node := &tapNode{fakeNode{name: "node-1", state: Running}, l.broker}
	return Target{
		Asked: history.TargetClients, Peers: []Node{node},
		Clients: []Client{{Name: "publisher-1", ID: "pub-1", Driver: "d"}},
		Control: []Node{node, &fakeNode{name: "witness", state: Running}},
		Site:    Site{Tap: l.tap, Clients: l},
	}
}

func (l *tapLab) Driver(string) (Driver, error) { return l.driver, nil }

func (l *tapLab) Connected(ids []string) (n int) {
	for _, id := range ids {
		if _, ok := l.online.Load(id); ok {
			n++
		}
	}
	return n
}

func (l *tapLab) Ended(ids []string) map[string]int {
	ended := map[string]int{}
	for _, id := range ids {
		ended[id] = int(l.ended.Load())
	}
	return ended
}

func (l *tapLab) inject(typ string, params map[string]any, target Target) history.Landing {
	l.t.Helper()
	req, err := Parse(typ, params)
	if err != nil {
		l.t.Fatal(err)
	}
	landing, err := l.engine.Inject(l.t.Context(), req, target)
	if err != nil {
		l.t.Fatal(err)
	}
	return landing
}

func (l *tapLab) lands(typ string, params map[string]any, target Target, want history.LandingState) {
	l.t.Helper()
	landing, err := l.engine.Wait(l.t.Context(), l.inject(typ, params, target).Fault)
	if err != nil {
		l.t.Fatal(err)
	}
	if landing.State != want || landing.Healed != history.HealVerified {
		l.t.Errorf("%s, healed %s, want %s: %q\n%s", landing.State, landing.Healed, want, landing.Reasons, encode(landing.Proofs))
	}
}

func (l *tapLab) await(ok func() bool) {
	l.t.Helper()
	for end := time.Now().Add(hosttest.Bound); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			l.t.Fatal("it does not happen")
		}
	}
}

// publish is a client that publishes until the test ends, and comes back
// whenever it loses its connection. It returns once that goes well.
func (l *tapLab) publish(id string) {
	ctx := l.t.Context()
	var wg sync.WaitGroup
	acked := make(chan bool, 1)
	wg.Go(func() {
		for ctx.Err() == nil {
			l.session(ctx, id, acked)
			l.online.Delete(id)
			l.ended.Add(1)
			time.Sleep(10 * time.Millisecond)
		}
	})
	l.t.Cleanup(wg.Wait)
	select {
	case <-acked:
	case <-time.After(hosttest.Bound):
		l.t.Fatal("no publish was acknowledged")
	}
}

func (l *tapLab) session(ctx context.Context, id string, acked chan<- bool) {
	conn, err := net.Dial("tcp", l.at)
	if err != nil {
		return
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	connect := packets.NewControlPacket(packets.Connect).(*packets.ConnectPacket)
	connect.ProtocolName, connect.ProtocolVersion, connect.ClientIdentifier, connect.CleanSession = "MQTT", 4, id, true
	connect.Write(conn)
	if _, err := packets.ReadPacket(conn); err != nil {
		return
	}
	l.online.Store(id, true)
	go func() {
		defer conn.Close()
		for n := uint16(1); ; n = n%60_000 + 1 {
			p := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
			p.TopicName, p.Qos, p.MessageID, p.Payload = "t", 1, n, []byte("payload")
			if p.Write(conn) != nil {
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	for {
		p, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		if _, ok := p.(*packets.PubackPacket); ok {
			select {
			case acked <- true:
			default:
			}
		}
	}
}

// A miniBroker acknowledges what is published, and floods whoever publishes:
// 20 KiB for each message, as a subscriber would get.
type miniBroker struct {
	address string
	mu      sync.Mutex
	open    map[*miniConn]bool
}

type miniConn struct {
	net.Conn
	waits atomic.Int64 // bytes handed to the connection and not taken
}

func newMiniBroker(t *testing.T) *miniBroker {
	b := &miniBroker{open: map[*miniConn]bool{}}
	b.address = hosttest.Serve(t, func(c net.Conn) { b.serve(&miniConn{Conn: c}) })
	return b
}

func (b *miniBroker) serve(c *miniConn) {
	b.note(c, true)
	defer b.note(c, false)
	flood := packets.NewControlPacket(packets.Publish).(*packets.PublishPacket)
	flood.TopicName, flood.Payload = "t", make([]byte, 20<<10)
	out := make(chan []byte, 1000)
	defer close(out)
	go func() {
		for p := range out {
			c.Write(p)
			c.waits.Add(int64(-len(p)))
		}
	}()
	for {
		p, err := packets.ReadPacket(c)
		if err != nil {
			return
		}
		var answer []packets.ControlPacket
		switch p := p.(type) {
		case *packets.ConnectPacket:
			answer = append(answer, packets.NewControlPacket(packets.Connack))
		case *packets.PublishPacket:
			if p.Qos > 1 || strings.Contains(p.TopicName, "#") {
				return // as the specification has it
			}
			ack := packets.NewControlPacket(packets.Puback).(*packets.PubackPacket)
			ack.MessageID = p.MessageID
			answer = append(answer, ack, flood)
		}
		for _, a := range answer {
			var p bytes.Buffer
			a.Write(&p)
			c.waits.Add(int64(p.Len()))
			select {
			case out <- p.Bytes():
			default: // the client does not read
				c.waits.Add(int64(-p.Len()))
			}
		}
	}
}

func (b *miniBroker) note(c *miniConn, open bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if open {
		b.open[c] = true
	} else {
		delete(b.open, c)
	}
}

// A tapNode is a node that tells its connections.
type tapNode struct {
	fakeNode
	broker *miniBroker
}

func (n *tapNode) Sockets(context.Context) (map[string]int64, error) {
	n.broker.mu.Lock()
	defer n.broker.mu.Unlock()
	out := map[string]int64{}
	for c := range n.broker.open {
		out[c.RemoteAddr().String()] = c.waits.Load()
	}
	return out, nil
}
