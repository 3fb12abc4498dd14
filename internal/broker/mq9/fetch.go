package mq9

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	defaultMessages  = 100
	defaultMaxWaitMS = 500
	maxWaitMS        = 10_000 // a fetch that waits is one of maxRequests
	maxMessages      = 1000
	lookAgain        = 10 * time.Millisecond
)

// fetch reads what a group has not acknowledged yet, all of a higher priority
// before any of a lower one, and within one in the order of sending. It moves
// no offset: what is not acknowledged is fetched again.
func (s *service) fetch(ctx context.Context, address string, m *request) (any, error) {
	var in fetchRequest
	if err := read("MSG.FETCH", m.Data, &in); err != nil {
		return nil, err
	}
	of, err := s.mailbox(ctx, address)
	if err != nil {
		return nil, err
	}
	most, wait := defaultMessages, int64(defaultMaxWaitMS)
	if n := in.Config.Messages; n != nil {
		most = min(*n, maxMessages)
	}
	if ms := in.Config.MaxWaitMS; ms != nil {
		wait = min(*ms, maxWaitMS)
	}
	from := map[string]uint64{}
	for _, p := range priorities() {
		start, err := s.start(ctx, of, p, in)
		if err != nil {
			return nil, err
		}
		from[p] = start
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeBound+time.Duration(wait)*time.Millisecond)
	defer cancel()
	until := time.Now().Add(time.Duration(wait) * time.Millisecond)
	for {
		found, err := s.after(ctx, of, from, most)
		if err == nil {
			err = s.returned(ctx, of, in.Group, found)
		}
		if err != nil || len(found) > 0 || time.Now().After(until) || of.over() {
			return messagesReply{Messages: found}, err
		}
		select {
		case <-time.After(lookAgain):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// start is the first id that a fetch may answer in a priority. Where a group
// begins is kept, so that it begins there once.
func (s *service) start(ctx context.Context, of mailbox, priority string, in fetchRequest) (uint64, error) {
	if in.Group != "" && !in.Force {
		if at, ok, err := s.store.offset(ctx, of, in.Group, priority); ok || err != nil {
			return at + 1, err
		}
	}
	var first uint64
	switch in.Deliver {
	case "earliest":
		first = 1
	case "from_id":
		first = max(in.FromID, 1)
	case "from_time":
		var err error
		if first, err = s.since(ctx, of.subject(priority, "*"), in.FromTime); err != nil {
			return 0, err
		}
	case "", "latest":
		info, err := s.store.messages.Info(ctx)
		if err != nil {
			return 0, fmt.Errorf("look at the messages: %w", err)
		}
		first = info.State.LastSeq + 1
	default:
		return 0, fmt.Errorf("invalid MSG.FETCH payload: unknown variant `%s`, expected one of `earliest`, `latest`, `from_time`, `from_id`", in.Deliver)
	}
	if in.Group == "" {
		return first, nil
	}
	return first, s.store.advance(ctx, of, in.Group, priority, first-1, in.Force)
}

// since is the first id of a message of a subject that is not older than a time in seconds.
func (s *service) since(ctx context.Context, subject string, t int64) (uint64, error) {
	for from := uint64(1); ; {
		m, err := next(ctx, s.store.messages, subject, from)
		if m == nil || err != nil {
			return from, err
		}
		if m.Time.Unix() >= t {
			return m.Sequence, nil
		}
		from = m.Sequence + 1
	}
}

// after reads at most so many messages from where each priority goes on, which
// it moves behind what it looked at.
func (s *service) after(ctx context.Context, of mailbox, from map[string]uint64, most int) ([]message, error) {
	found := []message{}
	for _, p := range priorities() {
		if len(found) >= most {
			break
		}
		at, err := s.each(ctx, of, of.subject(p, "*"), from[p], func(m *jetstream.RawStreamMsg) bool {
			found = append(found, messageOf(m))
			return len(found) < most
		})
		if err != nil {
			return nil, err
		}
		from[p] = at
	}
	return found, nil
}
