package mq9

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// MessageStream is the stream that holds the messages of all mailboxes;
// stateStream holds, one message each, the mailboxes, the agents, and how far
// each group has come.
const (
	MessageStream = "MQ9"
	stateStream   = "MQ9_state"
)

// store is what all nodes share.
type store struct {
	js       jetstream.JetStream
	messages jetstream.Stream
	state    jetstream.Stream
}

const (
	subjectOpen = "mq9.open" // asks whoever leads to make the streams
	openAgain   = 50 * time.Millisecond
)

// open finds the streams, or has the node that leads make them: nodes that make
// the same ones at the same time stand in each other's way for seconds.
func (s *service) open(ctx context.Context) error {
	s.opening.Lock()
	defer s.opening.Unlock()
	if s.store != nil {
		return nil
	}
	for {
		if s.leads() {
			return s.make(ctx)
		}
		found, err := s.find(ctx)
		if err == nil {
			s.store = found
			return nil
		}
		if err := s.nc.Publish(subjectOpen, nil); err != nil {
			return fmt.Errorf("open the mailboxes: %w", err)
		}
		select {
		case <-time.After(openAgain):
		case <-ctx.Done():
			return fmt.Errorf("open the mailboxes: %w: %w", ctx.Err(), err)
		}
	}
}

// make makes the streams. Only who leads one is asked for what is in it: a
// replica may lag behind.
func (s *service) make(ctx context.Context) error {
	messages, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: MessageStream, Subjects: []string{"mq9.m.>", "mq9.d.>"}, Replicas: s.replicas,
		AllowMsgTTL: true, AllowMsgSchedules: true,
	})
	if err != nil {
		return fmt.Errorf("make the stream of messages: %w", err)
	}
	state, err := s.js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: stateStream, Subjects: []string{stateSubject(">")}, Replicas: s.replicas,
		AllowMsgTTL: true, MaxMsgsPerSubject: 1,
	})
	if err != nil {
		return fmt.Errorf("make the stream of mailboxes: %w", err)
	}
	s.store = &store{js: s.js, messages: messages, state: state}
	return nil
}

func (s *service) find(ctx context.Context) (*store, error) {
	messages, err := s.js.Stream(ctx, MessageStream)
	if err != nil {
		return nil, err
	}
	state, err := s.js.Stream(ctx, stateStream)
	if err != nil {
		return nil, err
	}
	return &store{js: s.js, messages: messages, state: state}, nil
}

func stateSubject(key string) string { return "mq9.s." + key }

// An entry is the state of a key. The zero entry is a key without a value.
type entry struct {
	value    []byte
	revision uint64
	made     time.Time
}

func (s *store) get(ctx context.Context, key string) (entry, error) {
	m, err := s.state.GetLastMsgForSubject(ctx, stateSubject(key))
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return entry{}, nil
	case err != nil:
		return entry{}, fmt.Errorf("read %s: %w", key, err)
	}
	return entry{m.Data, m.Sequence, m.Time}, nil
}

// errRaced is of a key that somebody else changed first.
var errRaced = errors.New("changed meanwhile")

// put sets a key that was as before, for as long as life says, and answers its
// new revision; errRaced where it is not as before any more.
func (s *store) put(ctx context.Context, key string, value []byte, before uint64, life time.Duration) error {
	m := nats.NewMsg(stateSubject(key))
	m.Data = value
	setLife(m, life)
	_, err := s.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(before))
	var api *jetstream.APIError
	switch {
	case errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant):
		return errRaced
	case err != nil:
		return fmt.Errorf("write %s: %w", key, err)
	}
	return nil
}

// keptAfter is how long a stream still holds what is over: a group may
// acknowledge what was in time when it was fetched.
const keptAfter = time.Minute

// life is how long a stream holds what is over at a time; 0 for ever.
func life(over time.Time) time.Duration {
	if over.IsZero() {
		return 0
	}
	return max(time.Until(over), 0).Truncate(time.Second) + keptAfter
}

func setLife(m *nats.Msg, life time.Duration) {
	if life > 0 {
		m.Header.Set(jetstream.MsgTTLHeader, life.String())
	}
}

// next is the first message of a subject from an id on, nil where there is none.
func next(ctx context.Context, in jetstream.Stream, subject string, from uint64) (*jetstream.RawStreamMsg, error) {
	m, err := in.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", subject, err)
	}
	return m, nil
}

// offset is the last id that a group has behind it, false where it has none.
func (s *store) offset(ctx context.Context, b mailbox, group, priority string) (uint64, bool, error) {
	e, err := s.get(ctx, b.offsetKey(group, priority))
	if err != nil || e.revision == 0 {
		return 0, false, err
	}
	n, err := strconv.ParseUint(string(e.value), 10, 64)
	return n, true, err
}

// advance moves a group on, never back unless forced.
func (s *store) advance(ctx context.Context, b mailbox, group, priority string, to uint64, force bool) error {
	for {
		key := b.offsetKey(group, priority)
		e, err := s.get(ctx, key)
		if err != nil {
			return err
		}
		if now, _ := strconv.ParseUint(string(e.value), 10, 64); e.revision != 0 && now >= to && !force {
			return nil
		}
		err = s.put(ctx, key, strconv.AppendUint(nil, to, 10), e.revision, life(b.expires))
		if !errors.Is(err, errRaced) || ctx.Err() != nil {
			return err
		}
	}
}
