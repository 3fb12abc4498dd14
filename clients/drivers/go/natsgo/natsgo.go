// Package natsgo drives github.com/nats-io/nats.go as a client of mq9. Replies to
// requests come to inboxes with literal subscriptions: the broker looks a reply's
// subject up literally among the subscribed subjects, and so finds no wildcard.
// This SDK's own Request would subscribe to a wildcard.
//
// The acknowledgement of a publish is the reply to its send. While the
// connection is lost the SDK keeps published messages, up to 8 MiB, and sends
// them on the next one.
package natsgo

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// Name and Version of the SDK.
const (
	Name    = "nats.go"
	Version = nats.Version
)

// wait bounds how long a request waits for its reply, beyond what it asked the
// broker to wait.
const wait = 5 * time.Second

// attempts are made at a request that is the same however often it is made.
const attempts = 3

// Main is the driver.
func Main(stdin io.Reader, stdout io.Writer) error {
	return driver.Main(driver.SDK{
		Name: Name, Version: Version, Protocols: []string{contract.MQ9},
		Cannot:   []string{contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotTold},
		Open:     open,
		Greeting: greeting,
	}, stdin, stdout)
}

// greeting is the first PONG: the broker took the CONNECT. The SDK gives up where
// the line behind INFO is another.
func greeting(read []byte) (driver.Ack, bool) {
	for _, line := range bytes.SplitAfter(read, []byte("\r\n")) {
		switch word := strings.TrimSpace(string(line)); {
		case !bytes.HasSuffix(line, []byte("\r\n")) || strings.HasPrefix(word, "INFO"):
		case word == "PONG":
			return driver.Ack{Outcome: driver.OK}, true
		default:
			return driver.Ack{Outcome: driver.Fail, Text: "expected PONG, got " + word}, true
		}
	}
	return driver.Ack{}, false
}

// A session is one client of mq9.
type session struct {
	p *driver.Process

	mu      sync.Mutex
	nc      *nats.Conn
	conn    *driver.Conn // the last one
	inboxes *inboxes
	filters []string // of the mailboxes that it fetches from
	stop    context.CancelFunc
	tasks   sync.WaitGroup
}

func open(p *driver.Process) driver.Session { return &session{p: p} }

func (s *session) Connect() {
	ctx, cancel := context.WithCancel(context.Background())
	s.mu.Lock()
	s.stop, s.nc = cancel, nil
	s.mu.Unlock()
	s.tasks.Go(func() { s.connect(ctx) })
}

// connect makes the connection that the SDK then keeps, and fetches on it.
func (s *session) connect(ctx context.Context) {
	c := s.p.Client()
	retry := time.Duration(c.ReconnectMS) * time.Millisecond
	up := make(chan struct{}, 1)
	connected := func(*nats.Conn) {
		select {
		case up <- struct{}{}:
		default:
		}
	}
	servers := "nats://" + strings.Join(c.Endpoints, ",nats://")
	nc, err := nats.Connect(servers,
		nats.Name(c.ClientID), nats.SetCustomDialer(dialer{s, ctx}), nats.Timeout(wait),
		nats.DontRandomize(), nats.IgnoreDiscoveredServers(),
		nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1), nats.ReconnectWait(retry), nats.ReconnectJitter(0, 0),
		nats.PingInterval(time.Duration(max(c.KeepAliveS, 1))*time.Second),
		nats.ConnectHandler(connected), nats.ReconnectHandler(connected),
	)
	if err != nil { // the options are wrong: nothing was tried
		s.p.Log("connect: " + err.Error())
		return
	}
	s.mu.Lock()
	s.nc, s.inboxes = nc, newInboxes(nc)
	s.mu.Unlock()
	s.tasks.Go(func() { s.consume(ctx) })
	for {
		select {
		case <-up:
			s.p.Connected(s.current())
		case <-ctx.Done():
			nc.Close()
			if conn := s.current(); conn != nil {
				conn.Close()
			}
			return
		}
	}
}

// dialer is what the SDK opens connections with.
type dialer struct {
	s   *session
	ctx context.Context
}

func (d dialer) Dial(_, address string) (net.Conn, error) {
	conn, err := d.s.p.Dial(d.ctx, address)
	if err != nil {
		return nil, err
	}
	d.s.mu.Lock()
	d.s.conn = conn
	d.s.mu.Unlock()
	return conn, nil
}

func (s *session) current() *driver.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.conn
}

func (s *session) Disconnect() {
	s.mu.Lock()
	stop := s.stop
	s.mu.Unlock()
	if stop != nil {
		stop()
		s.tasks.Wait()
	}
}

// Subscribe makes the mailbox, unless it is there, and goes on to fetch from it.
func (s *session) Subscribe(f contract.Filter) driver.Ack {
	var out struct {
		Error string `json:"error"`
	}
	var err error
	_, mailbox := contract.CutGroup(f.Filter, "")
	in := map[string]any{"name": mailbox}
	if f.TTLS > 0 {
		in["ttl"] = f.TTLS
	}
	for range attempts {
		if err = s.ask(context.Background(), "MAILBOX.CREATE", in, &out); err == nil {
			break
		}
	}
	switch {
	case err != nil:
		return driver.Unknown(err)
	case out.Error != "" && !strings.Contains(out.Error, "already exists"):
		return driver.Failed(errors.New(out.Error))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Contains(s.filters, f.Filter) {
		s.filters = append(s.filters, f.Filter)
	}
	return driver.Ack{Outcome: driver.OK}
}
