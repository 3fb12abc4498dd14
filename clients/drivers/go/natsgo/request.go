package natsgo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

const prefix = "$mq9.AI."

// inboxes are where replies come, each for one request at a time. They are
// never unsubscribed.
type inboxes struct {
	nc   *nats.Conn
	mu   sync.Mutex
	free []*nats.Subscription
}

func newInboxes(nc *nats.Conn) *inboxes { return &inboxes{nc: nc} }

func (b *inboxes) take() (*nats.Subscription, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n := len(b.free); n > 0 {
		box := b.free[n-1]
		b.free = b.free[:n-1]
		return box, nil
	}
	return b.nc.SubscribeSync(nats.NewInbox())
}

// put gives back one whose request was answered.
func (b *inboxes) put(box *nats.Subscription) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.free = append(b.free, box)
}

// send hands a request to the SDK; reply waits for what is answered.
func (b *inboxes) send(m *nats.Msg) (reply func(context.Context) ([]byte, error), err error) {
	box, err := b.take()
	if err != nil {
		return nil, err
	}
	m.Reply = box.Subject
	if err := b.nc.PublishMsg(m); err != nil {
		b.put(box)
		return nil, err
	}
	return func(ctx context.Context) ([]byte, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wait, errors.New("no reply within "+wait.String()))
		defer cancel()
		answer, err := box.NextMsgWithContext(ctx)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, err
		}
		b.put(box)
		return answer.Data, nil
	}, nil
}

// ask makes a request of JSON and reads the reply. It does not flush, because the
// SDK sends a request soon by itself.
func (s *session) ask(ctx context.Context, subject string, in, out any) error {
	data, err := json.Marshal(in)
	if err != nil {
		return err
	}
	b := s.boxes()
	if b == nil {
		return errors.New("not connected")
	}
	reply, err := b.send(&nats.Msg{Subject: prefix + subject, Data: data})
	if err != nil {
		return err
	}
	text, err := reply(ctx)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, out); err != nil {
		return fmt.Errorf("read the reply %.100q: %w", text, err)
	}
	return nil
}

func (s *session) boxes() *inboxes {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.inboxes
}

// Publish sends a message. The reply says under which id it is kept.
func (s *session) Publish(call *driver.Call, stream contract.Stream, payload []byte) {
	m := nats.NewMsg(prefix + "MSG.SEND." + stream.Topic)
	m.Data = payload
	if stream.Priority != "" {
		m.Header.Set("mq9-priority", stream.Priority)
	}
	if stream.TTLS > 0 {
		m.Header.Set("mq9-ttl", strconv.Itoa(stream.TTLS))
	}
	b := s.boxes()
	if b == nil {
		call.Return(driver.Failed(errors.New("not connected")))
		return
	}
	reply, err := b.send(m)
	if err != nil {
		call.Return(driver.Failed(err))
		return
	}
	go func() {
		text, err := reply(context.Background())
		if err != nil {
			call.Return(driver.Unknown(err))
			return
		}
		call.Return(sent(text))
	}()
}

// sent reads the reply to a send.
func sent(text []byte) driver.Ack {
	var out struct {
		Error string `json:"error"`
		ID    *int64 `json:"msg_id"`
	}
	switch err := json.Unmarshal(text, &out); {
	case err != nil:
		return driver.Unknown(fmt.Errorf("read the reply %.100q: %w", text, err))
	case out.Error != "":
		return driver.Failed(errors.New(out.Error))
	case out.ID == nil:
		return driver.Unknown(fmt.Errorf("a reply without msg_id: %.100q", text))
	}
	return driver.Ack{Outcome: driver.OK, ID: *out.ID}
}

// idle is how long a client that has no mailbox yet, or whose broker does not
// answer, does nothing.
const idle = 100 * time.Millisecond
