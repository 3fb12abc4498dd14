package mq9

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go/jetstream"
)

// ack confirms a message and all before it of its priority, for one group; the last one
// of a batch confirms the batch.
func (s *service) ack(ctx context.Context, _ string, m *request) (any, error) {
	var in ackRequest
	if err := read("MSG.ACK", m.Data, &in); err != nil {
		return nil, err
	}
	if in.Group == "" || in.Address == "" || in.ID == nil {
		return nil, errors.New("invalid MSG.ACK payload: group_name, mail_address and msg_id are required")
	}
	of, err := s.mailbox(ctx, in.Address)
	switch {
	case errors.Is(err, errNoMailbox):
		return nil, fmt.Errorf("mailbox not found: %s", in.Address)
	case err != nil:
		return nil, err
	}
	acked, err := s.message(ctx, of, *in.ID)
	if err != nil {
		return nil, err
	}
	priority, _ := partsOf(acked.Subject)
	to := map[string]uint64{}
	if priority != priorities()[0] { // before which nothing is returned
		if to, err = s.confirmed(ctx, of, in.Group, *in.ID); err != nil {
			return nil, err
		}
	}
	for p, id := range to {
		if err := s.store.advance(ctx, of, in.Group, p, id, false); err != nil {
			return nil, err
		}
	}
	return errorReply{}, s.store.advance(ctx, of, in.Group, priority, *in.ID, false)
}

var errNoMessage = errors.New("message not found")

// message is one of a mailbox, by its id, also one whose time was over a moment ago.
func (s *service) message(ctx context.Context, of mailbox, id uint64) (*jetstream.RawStreamMsg, error) {
	m, err := s.store.messages.GetMsg(ctx, id)
	switch {
	case errors.Is(err, jetstream.ErrMsgNotFound):
		return nil, errNoMessage
	case err != nil:
		return nil, fmt.Errorf("read message %d: %w", id, err)
	case !strings.HasPrefix(m.Subject, "mq9.m."+of.token()+"."):
		return nil, errNoMessage
	}
	return m, nil
}

// delete removes a message for all groups.
func (s *service) delete(ctx context.Context, rest string, _ *request) (any, error) {
	address, id, err := cutID(rest)
	if err != nil {
		return nil, err
	}
	of, err := s.mailbox(ctx, address)
	if err != nil {
		return nil, err
	}
	m, err := s.message(ctx, of, id)
	if err != nil {
		return nil, err
	}
	visible, err := s.visible(ctx, of, m)
	if err != nil {
		return nil, err
	}
	if !visible {
		return nil, errNoMessage
	}
	if err := s.store.messages.DeleteMsg(ctx, id); err != nil {
		return nil, fmt.Errorf("delete message %d: %w", id, err)
	}
	return deleteReply{Deleted: true}, nil
}
