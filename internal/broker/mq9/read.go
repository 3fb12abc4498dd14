package mq9

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// each goes through the messages of a subject that may be seen, from an id on,
// until see says that it has enough. It answers the id behind the last message
// that was looked at: what lies before and was not seen never will be.
func (s *service) each(ctx context.Context, of mailbox, subject string, from uint64, see func(*jetstream.RawStreamMsg) (more bool)) (uint64, error) {
	for {
		m, err := next(ctx, s.store.messages, subject, from)
		if m == nil || err != nil {
			return from, err
		}
		from = m.Sequence + 1
		visible, err := s.visible(ctx, of, m)
		if err != nil {
			return from, err
		}
		if visible && !see(m) {
			return from, nil
		}
	}
}

// visible reports whether a message may be seen: its time is not over, and it
// is the last one of its key.
func (s *service) visible(ctx context.Context, of mailbox, m *jetstream.RawStreamMsg) (bool, error) {
	if ns, err := strconv.ParseInt(m.Header.Get(headerExpires), 10, 64); err == nil && passed(time.Unix(0, ns)) {
		return false, nil
	}
	_, key := partsOf(m.Subject)
	if key == keyless {
		return true, nil
	}
	later, err := next(ctx, s.store.messages, of.subject("*", key), m.Sequence+1)
	return later == nil, err
}

// partsOf a subject of a message.
func partsOf(subject string) (priority, key string) {
	at := strings.LastIndexByte(subject, '.')
	key = subject[at+1:]
	rest := subject[:at]
	return rest[strings.LastIndexByte(rest, '.')+1:], key
}

func messageOf(m *jetstream.RawStreamMsg) message {
	priority, _ := partsOf(m.Subject)
	return message{ID: m.Sequence, Payload: string(m.Data), Priority: priority, Created: m.Time.Unix()}
}
