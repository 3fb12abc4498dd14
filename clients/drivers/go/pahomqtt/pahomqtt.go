// Package pahomqtt drives github.com/eclipse/paho.mqtt.golang, MQTT 3.1.1, the
// way its users do: auto reconnect over several brokers, its own resending of
// messages in flight.
//
// A token of this SDK completes without error when the connection is replaced,
// acknowledged or not (claimID in its messageids.go). So a token says what the
// application is told, and no more. The SDK deletes an outgoing message from its
// store when PUBACK or PUBCOMP arrives, and only then: the store that we hand it
// sees the true acknowledgement, across reconnects too.
//
// It cannot promise exactly once. It keeps no PUBREC, so on a new connection it
// sends PUBLISH again where only PUBREL is allowed. Its resume runs when the client
// is connected already, and repeats messages published meanwhile.
//
// Build tag paho13 is for versions before 1.4: they let nobody else open a
// connection. Build tag paho132 is for versions before 1.3.3: they take no function for
// a proxy. Build tag autoack is for versions before 1.5.1: they cannot withhold
// an acknowledgement, or panic on an acknowledgement after the connection is gone.
package pahomqtt

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// Name of the SDK, and its version in rmq-mcp itself.
const (
	Name    = "paho.mqtt.golang"
	Version = "1.5.1"
)

// wait bounds what the SDK may block for: dialing, CONNACK, SUBACK, a write.
const wait = 5 * time.Second

// Main is the driver, built with a version of the SDK.
func Main(version string, stdin io.Reader, stdout io.Writer) error {
	return driver.Main(SDK(version), stdin, stdout)
}

// SDK is how a version of the SDK is driven.
func SDK(version string) driver.SDK {
	dialers := newDialers()
	return driver.SDK{
		Name: Name, Version: version, Protocols: []string{contract.MQTT3},
		Transports: []string{contract.TLS, contract.WS, contract.WSS}, Cannot: cannot(), WebSocket: webSocket,
		Open: func(p *driver.Process) driver.Session {
			return &session{p: p, store: newLedger(), dialers: dialers}
		},
	}
}

func webSocket(_ context.Context, url string, trust *tls.Config) (net.Conn, error) {
	return mqtt.NewWebsocket(url, trust, wait, nil, webSocketOptions())
}

// A session is one client identifier; it makes a new SDK client for each
// Connect, which take over the store of those before.
type session struct {
	p       *driver.Process
	store   *ledger
	dialers *dialers

	mu     sync.Mutex
	client mqtt.Client
	conn   *driver.Conn // the last one
	cancel context.CancelFunc
	inbox  *inbox
}

func (s *session) Connect() {
	ctx, cancel := context.WithCancel(context.Background())
	inbox := newInbox(s.p)
	ready := make(chan mqtt.Token, 1)
	client := mqtt.NewClient(s.options(ctx, inbox, ready))
	s.mu.Lock()
	s.client, s.cancel, s.inbox = client, cancel, inbox
	s.mu.Unlock()
	ready <- client.Connect() // retried by the SDK until Disconnect
}

func (s *session) options(ctx context.Context, inbox *inbox, ready chan mqtt.Token) *mqtt.ClientOptions {
	c := s.p.Client()
	retry := time.Duration(c.ReconnectMS) * time.Millisecond
	o := mqtt.NewClientOptions().
		SetClientID(c.ClientID).SetUsername(c.Username).SetPassword(c.Password).
		SetProtocolVersion(4).SetCleanSession(c.Clean).
		SetKeepAlive(time.Duration(c.KeepAliveS) * time.Second).SetPingTimeout(wait).
		SetConnectTimeout(wait).SetWriteTimeout(wait).
		SetAutoReconnect(true).SetMaxReconnectInterval(retry).
		SetConnectRetry(true).SetConnectRetryInterval(retry).
		SetStore(s.store)
	withhold(o)
	var will []byte // the SDK keeps it, and writes it down when it has connected
	if w := c.Will; w != nil {
		will = make([]byte, w.PayloadBytes)
		o.SetBinaryWill(w.Topic, will, w.QoS, false)
	}
	s.dialers.use(o, c.Endpoints, func(endpoint string) (net.Conn, error) {
		conn, err := s.p.Dial(ctx, endpoint)
		if err != nil {
			return nil, err
		}
		copy(will, conn.Will())
		s.mu.Lock()
		s.conn = conn
		s.mu.Unlock()
		return conn, nil
	})
	o.SetOnConnectHandler(func(mqtt.Client) {
		// The first time, what the store held is sent when the token completes.
		token := <-ready
		ready <- token
		token.Wait()
		s.p.Connected(s.current())
	})
	o.SetDefaultPublishHandler(func(_ mqtt.Client, m mqtt.Message) { inbox.put(m, s.current()) })
	return o
}

func (s *session) current() *driver.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *session) Disconnect() {
	s.mu.Lock()
	client, conn, cancel, inbox := s.client, s.conn, s.cancel, s.inbox
	s.mu.Unlock()
	if client == nil {
		return
	}
	client.Disconnect(1000) // milliseconds
	cancel()
	if conn != nil {
		conn.Close()
	}
	inbox.close()
	if s.p.Client().Clean {
		s.store.abandon(errors.New("the session ended before an acknowledgement"))
	}
}

func (s *session) Subscribe(f contract.Filter) driver.Ack {
	s.mu.Lock()
	client := s.client
	s.mu.Unlock()
	token := client.Subscribe(f.Filter, f.QoS, nil).(*mqtt.SubscribeToken)
	if !token.WaitTimeout(wait) {
		return driver.Unknown(errors.New("no SUBACK within " + wait.String()))
	}
	var code byte
	acked := false
	for _, granted := range token.Result() { // of one filter, which the SDK may have renamed
		code, acked = granted, true
	}
	switch {
	case token.Error() != nil:
		return driver.Unknown(token.Error())
	case !acked:
		return driver.Unknown(errors.New("connection lost before SUBACK"))
	case code >= 0x80:
		return driver.Ack{Outcome: driver.Fail, Reason: int(code), Text: "the broker refused"}
	}
	return driver.Ack{Outcome: driver.OK, Reason: int(code)}
}

func (s *session) Publish(call *driver.Call, stream contract.Stream, payload []byte) {
	s.mu.Lock()
	client, conn := s.client, s.conn
	s.mu.Unlock()
	if stream.QoS == 0 {
		publish0(client, conn, call, stream, payload)
		return
	}
	s.store.expect(call)
	token := client.Publish(stream.Topic, stream.QoS, stream.Retain, payload)
	go tell(call, token)
	if !s.store.taken() { // not stored, so it will never be sent
		err := token.Error()
		if err == nil {
			err = errors.New("the SDK did not take it")
		}
		call.Return(driver.Failed(err))
	}
}

// tell writes down what the SDK tells of a publish.
func tell(call *driver.Call, token mqtt.Token) {
	<-token.Done()
	call.Told(token.Error())
}

// publish0 publishes at QoS 0. The SDK drops such a message without a word
// while it is not connected.
func publish0(client mqtt.Client, conn *driver.Conn, call *driver.Call, stream contract.Stream, payload []byte) {
	open := client.IsConnectionOpen()
	token := client.Publish(stream.Topic, 0, stream.Retain, payload)
	go tell(call, token)
	select {
	case <-token.Done():
	case <-conn.Done():
	}
	switch {
	case token.Error() != nil:
		call.Return(driver.Unknown(token.Error()))
	case !open || !client.IsConnectionOpen():
		call.Return(driver.Unknown(errors.New("not connected all the time")))
	default:
		call.Return(driver.Ack{Outcome: driver.OK})
	}
}

func message(m mqtt.Message) *driver.Message {
	return &driver.Message{
		Payload: m.Payload(), Topic: m.Topic(), QoS: m.Qos(),
		Dup: m.Duplicate(), Retain: m.Retained(), ID: int64(m.MessageID()),
	}
}
