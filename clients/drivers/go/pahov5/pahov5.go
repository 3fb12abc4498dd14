// Package pahov5 drives github.com/eclipse/paho.golang, MQTT 5: one paho.Client
// for each connection, all on one session state. The state resends messages in
// flight if the broker kept the session, and drops them if it did not.
//
// The state knows a received message of QoS 2 from its PUBREC on. The PUBREC is sent
// when the application is done with the message: a copy before that is delivered.
package pahov5

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"
	"github.com/eclipse/paho.golang/paho/session"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// Name of the SDK, and its version in rmq-mcp itself.
const (
	Name    = "paho.golang"
	Version = "0.23.0"
)

// wait bounds what the SDK may block for: CONNACK, SUBACK, a free place in
// the broker's receive maximum.
const wait = 5 * time.Second

// Main is the driver, built with a version of the SDK.
func Main(version string, stdin io.Reader, stdout io.Writer) error {
	return driver.Main(driver.SDK{
		Name: Name, Version: version, Protocols: []string{contract.MQTT5},
		Transports: []string{contract.TLS, contract.WS, contract.WSS}, Dedupes: true,
		Cannot: []string{contract.CannotDedupeAtOnce}, Open: open, WebSocket: WebSocket,
	}, stdin, stdout)
}

type mqttSession struct {
	p     *driver.Process
	state *ledger
	hand  handover

	mu      sync.Mutex
	client  *paho.Client
	changed chan struct{} // closed when client changes
	cancel  context.CancelFunc
	ctx     context.Context
	stopped chan struct{}
}

func open(p *driver.Process) driver.Session {
	return &mqttSession{p: p, state: newLedger(), changed: make(chan struct{})}
}

func (s *mqttSession) Connect() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.stopped = make(chan struct{})
	ctx, stopped := s.ctx, s.stopped
	go func() {
		defer close(stopped)
		s.p.StayConnected(ctx, s.serve)
	}()
}

func (s *mqttSession) Disconnect() {
	s.mu.Lock()
	cancel, stopped := s.cancel, s.stopped
	s.mu.Unlock()
	if cancel == nil {
		return
	}
	cancel()
	<-stopped
}

// serve connects to an endpoint and returns when the connection has ended. It
// is false where there was none.
func (s *mqttSession) serve(ctx context.Context, endpoint string) bool {
	conn, err := s.p.Dial(ctx, endpoint)
	if err != nil {
		return false
	}
	client := paho.NewClient(paho.ClientConfig{
		// Without it the parts of two packets mix on the wire.
		Conn: packets.NewThreadSafeConn(conn), Session: s.state, PacketTimeout: wait,
		PingHandler: &pinger{DefaultPinger: paho.NewDefaultPinger(), hand: &s.hand},
		OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			func(m paho.PublishReceived) (bool, error) {
				// Received is acknowledged, as soon as this returns: what a
				// lost connection lets through here is delivered all the same.
				s.p.Hold(conn)
				s.p.Deliver(message(m.Packet), conn)
				return true, nil
			},
		},
		OnServerDisconnect: func(*paho.Disconnect) {},
	})
	s.state.use(conn)
	greeted, cancel := conn.Greeted(ctx)
	defer cancel()
	if _, err := client.Connect(greeted, s.connect(conn.Will())); err != nil {
		conn.Close()
		return false
	}
	s.set(client)
	s.p.Connected(conn)
	select {
	case <-client.Done():
	case <-ctx.Done():
		// The connection may be gone, which is as good.
		_ = client.Disconnect(&paho.Disconnect{ReasonCode: 0})
	}
	s.set(nil)
	return true
}

func (s *mqttSession) connect(will []byte) *paho.Connect {
	c := s.p.Client()
	expiry, receive := uint32(c.ExpiryS), uint16(c.ReceiveMax)
	connect := &paho.Connect{
		ClientID: c.ClientID, KeepAlive: uint16(c.KeepAliveS), CleanStart: c.Clean,
		Username: c.Username, UsernameFlag: c.Username != "",
		Password: []byte(c.Password), PasswordFlag: c.Password != "",
		Properties: &paho.ConnectProperties{SessionExpiryInterval: &expiry},
	}
	if receive > 0 {
		connect.Properties.ReceiveMaximum = &receive
	}
	if w := c.Will; w != nil {
		connect.WillMessage = &paho.WillMessage{Topic: w.Topic, QoS: w.QoS, Payload: will}
	}
	return connect
}

// set changes the client that publishes go through.
func (s *mqttSession) set(client *paho.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.client = client
	close(s.changed)
	s.changed = make(chan struct{})
}

// online waits for a connected client; it is nil when the session is closed.
func (s *mqttSession) online() *paho.Client {
	for {
		s.mu.Lock()
		client, changed, ctx := s.client, s.changed, s.ctx
		s.mu.Unlock()
		if client != nil {
			return client
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *mqttSession) Subscribe(f contract.Filter) driver.Ack {
	client := s.online()
	if client == nil {
		return driver.Failed(errClosed)
	}
	var ack *paho.Suback
	var err error
	<-s.hand.over(func() {
		ack, err = client.Subscribe(context.Background(), &paho.Subscribe{
			Subscriptions: []paho.SubscribeOptions{{Topic: f.Filter, QoS: f.QoS}},
		})
	})
	switch {
	case ack == nil:
		return driver.Unknown(err)
	case err != nil:
		return driver.Ack{Outcome: driver.Fail, Reason: int(ack.Reasons[0]), Text: err.Error()}
	}
	return driver.Ack{Outcome: driver.OK, Reason: int(ack.Reasons[0])}
}

// Publish has the SDK publish the message, and goes on as soon as the packet is
// on its way: the SDK's Publish returns when all is done. The acknowledgement is
// seen by the ledger, after a reconnect too.
func (s *mqttSession) Publish(call *driver.Call, stream contract.Stream, payload []byte) {
	message := &paho.Publish{Topic: stream.Topic, QoS: stream.QoS, Retain: stream.Retain, Payload: payload}
	for {
		client := s.online()
		if client == nil {
			call.Return(driver.Failed(errClosed))
			return
		}
		e := s.state.expect(call)
		var err error
		done := s.hand.over(func() {
			err = publish(client, message)
			if e.taken.Load() || !again(err) {
				call.Told(err)
			}
		})
		if e.taken.Load() { // a failed write is repeated by the session
			return
		}
		<-done
		switch {
		case stream.QoS == 0 && err != nil:
			call.Return(driver.Unknown(err))
		case stream.QoS == 0:
			call.Return(driver.Ack{Outcome: driver.OK})
		case again(err):
			continue
		default:
			call.Return(driver.Failed(fmt.Errorf("not sent: %w", err)))
		}
		return
	}
}

// publish is the SDK's Publish; a reason code that says no is an error.
func publish(client *paho.Client, message *paho.Publish) error {
	response, err := client.Publish(context.Background(), message)
	if err == nil && response != nil && response.ReasonCode >= 0x80 {
		return fmt.Errorf("reason code %#02x", response.ReasonCode)
	}
	return err
}

// again reports whether a message that did not get into the session can be
// handed to the next connection.
func again(err error) bool {
	return errors.Is(err, session.ErrNoConnection) || errors.Is(err, context.DeadlineExceeded)
}

var errClosed = errors.New("never sent: the session was closed")

func message(m *paho.Publish) *driver.Message {
	return &driver.Message{
		Payload: m.Payload, Topic: m.Topic, QoS: m.QoS,
		Dup: m.Duplicate(), Retain: m.Retain, ID: int64(m.PacketID),
	}
}
