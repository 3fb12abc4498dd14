// Package pahomqtt drives github.com/eclipse/paho.mqtt.golang, MQTT 3.1.1, the
// way its users do: auto reconnect over several brokers, its own resending of
// what is in flight.
//
// A token of this SDK completes without error when the connection is replaced,
// acknowledged or not (claimID in its messageids.go). So tokens are not asked.
// The SDK deletes an outgoing message from its store when PUBACK or PUBCOMP
// arrives, and only then: the store that we hand it sees the true
// acknowledgement, across reconnects too.
//
// It cannot promise exactly once: it keeps no PUBREC, so that on a new
// connection it sends PUBLISH again where only PUBREL is allowed; and resume,
// which runs when the client is connected already, repeats what is published
// meanwhile.
package pahomqtt

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// Name and Version of the SDK.
const (
	Name    = "paho.mqtt.golang"
	Version = "1.5.1"
)

// wait bounds what the SDK may block for: dialing, CONNACK, SUBACK, a write.
const wait = 5 * time.Second

// Main is the driver.
func Main(stdin io.Reader, stdout io.Writer) error {
	return driver.Main(driver.SDK{
		Name: Name, Version: Version, Protocol: clients.MQTT3,
		Cannot: []string{clients.CannotExactlyOnce},
		Open:   open,
	}, stdin, stdout)
}

// A session is one client identifier; it makes a new SDK client for each
// Connect, which take over the store of those before.
type session struct {
	p     *driver.Process
	store *ledger

	mu     sync.Mutex
	client mqtt.Client
	conn   *driver.Conn // the last one
	cancel context.CancelFunc
	inbox  *inbox
}

func open(p *driver.Process) driver.Session { return &session{p: p, store: newLedger()} }

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
		SetStore(s.store).SetAutoAckDisabled(true)
	for _, endpoint := range c.Endpoints {
		o.AddBroker("tcp://" + endpoint)
	}
	o.SetCustomOpenConnectionFn(func(broker *url.URL, _ mqtt.ClientOptions) (net.Conn, error) {
		conn, err := s.p.Dial(ctx, broker.Host)
		if err != nil {
			return nil, err
		}
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

func (s *session) Subscribe(f clients.Filter) driver.Ack {
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

func (s *session) Publish(call *driver.Call, stream clients.Stream, payload []byte) {
	s.mu.Lock()
	client, conn := s.client, s.conn
	s.mu.Unlock()
	if stream.QoS == 0 {
		publish0(client, conn, call, stream, payload)
		return
	}
	s.store.expect(call)
	token := client.Publish(stream.Topic, stream.QoS, stream.Retain, payload)
	if !s.store.taken() { // not stored, so it will never be sent
		err := token.Error()
		if err == nil {
			err = errors.New("the SDK did not take it")
		}
		call.Return(driver.Failed(err))
	}
}

// publish0 publishes at QoS 0. The SDK drops such a message without a word
// while it is not connected.
func publish0(client mqtt.Client, conn *driver.Conn, call *driver.Call, stream clients.Stream, payload []byte) {
	open := client.IsConnectionOpen()
	token := client.Publish(stream.Topic, 0, stream.Retain, payload)
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
