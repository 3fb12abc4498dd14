package mq9

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"
)

// headerExpires is when a stored message is over, in nanoseconds of Unix time.
const headerExpires = "mq9-expires"

// send stores a message, behind those that came before it; what is answered is
// stored by most replicas.
func (s *service) send(ctx context.Context, address string, m *request) (any, error) {
	to, err := s.mailbox(ctx, address)
	if err != nil {
		return nil, err
	}
	if len(m.Data) == 0 {
		return nil, errors.New("payload must not be empty")
	}
	stored := toStore(to, m.Msg)
	_, delayed := seconds(m.Msg, headerDelay)
	if err := m.turn.come(ctx); err != nil {
		return nil, fmt.Errorf("%w: %w", errSilent, err)
	}
	on, err := s.js.PublishMsgAsync(stored)
	m.turn.leave()
	if err != nil {
		return nil, fmt.Errorf("%w: store a message for %s: %w", errSilent, address, err)
	}
	select {
	case ack := <-on.Ok():
		if delayed {
			return sendReply{ID: -1}, nil
		}
		if key := keyOf(m.Msg); key != keyless {
			s.compact(ctx, to, key, ack.Sequence)
		}
		return sendReply{ID: int64(ack.Sequence)}, nil
	case err := <-on.Err():
		return nil, fmt.Errorf("%w: store a message for %s: %w", errSilent, address, err)
	case <-ctx.Done():
		return nil, fmt.Errorf("%w: store a message for %s: %w", errSilent, address, ctx.Err())
	}
}

// toStore is a message as the stream keeps it. One that is delayed is kept
// under a subject of its own, from where the stream itself moves it into the
// mailbox when it is due.
func toStore(to mailbox, m *nats.Msg) *nats.Msg {
	priority := m.Header.Get(headerPriority)
	if !slices.Contains(priorities(), priority) {
		priority = "normal"
	}
	out := nats.NewMsg(to.subject(priority, keyOf(m)))
	out.Data = m.Data
	if v := m.Header.Get(headerTags); v != "" {
		out.Header.Set(headerTags, v)
	}
	over, now := to.expires, time.Now()
	if ttl, ok := seconds(m, headerTTL); ok {
		expires := now.Add(ttl)
		out.Header.Set(headerExpires, strconv.FormatInt(expires.UnixNano(), 10))
		if over.IsZero() || expires.Before(over) {
			over = expires
		}
	}
	delay, delayed := seconds(m, headerDelay)
	if !delayed {
		setLife(out, life(over))
		return out
	}
	due := now.Add(delay)
	out.Header.Set(jetstream.ScheduleHeader, "@at "+due.UTC().Format(time.RFC3339Nano))
	out.Header.Set(jetstream.ScheduleTargetHeader, out.Subject)
	if life := life(over); life > 0 {
		out.Header.Set(jetstream.ScheduleTTLHeader, life.String())
	}
	out.Subject = "mq9.d." + to.token() + "." + nuid.Next()
	return out
}

// seconds of a header; false where it is absent or no number of seconds.
func seconds(m *nats.Msg, header string) (time.Duration, bool) {
	n, err := strconv.ParseUint(m.Header.Get(header), 10, 64)
	return time.Duration(min(n, maxTTLS)) * time.Second, err == nil
}

// keyOf is a message's key as it stands in a subject.
func keyOf(m *nats.Msg) string {
	if key := m.Header.Get(headerKey); key != "" {
		return hex.EncodeToString([]byte(key))
	}
	return keyless
}

// compact removes what a message replaces. Where that fails it is only kept
// longer: nobody is shown it any more.
func (s *service) compact(ctx context.Context, of mailbox, key string, newest uint64) {
	s.store.messages.Purge(ctx, jetstream.WithPurgeSubject(of.subject("*", key)), jetstream.WithPurgeSequence(newest))
}
