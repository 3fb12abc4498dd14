package natsgo

import (
	"context"
	"errors"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

const (
	fetchMessages = 50
	fetchWaitMS   = 200
)

type message struct {
	ID       int64  `json:"msg_id"`
	Payload  string `json:"payload"`
	Priority string `json:"priority"`
}

// consume fetches from one mailbox after the other until ctx ends.
func (s *session) consume(ctx context.Context) {
	for at := 0; ctx.Err() == nil; at++ {
		s.mu.Lock()
		filters := s.filters
		s.mu.Unlock()
		conn := s.current()
		if len(filters) == 0 || conn == nil {
			sleep(ctx, idle)
			continue
		}
		if !s.p.Hold(conn) {
			sleep(ctx, idle) // the connection is gone; the SDK makes another
			continue
		}
		if err := s.fetch(ctx, conn, filters[at%len(filters)]); err != nil && ctx.Err() == nil {
			s.p.Log("fetch: " + err.Error())
			sleep(ctx, idle)
		}
	}
}

// fetch reads what the mailbox of a filter has for this client's group, and acknowledges it.
func (s *session) fetch(ctx context.Context, conn *driver.Conn, filter string) error {
	group, mailbox := contract.CutGroup(filter, s.p.Client().ClientID)
	var out struct {
		Error    string    `json:"error"`
		Messages []message `json:"messages"`
	}
	call := s.p.Fetching(mailbox)
	err := s.ask(ctx, "MSG.FETCH."+mailbox, map[string]any{
		"group_name": group, "deliver": "earliest",
		"config": map[string]int{"num_msgs": fetchMessages, "max_wait_ms": fetchWaitMS},
	}, &out)
	switch {
	case err != nil:
		call.Return(driver.Unknown(err))
		return err
	case out.Error != "":
		call.Return(driver.Failed(errors.New(out.Error)))
		return errors.New(out.Error)
	}
	call.Return(driver.Ack{Outcome: driver.OK, ID: int64(len(out.Messages))})
	last := map[string]int64{}
	for _, m := range out.Messages {
		if !s.p.Hold(conn) || ctx.Err() != nil {
			break // what is not acknowledged is fetched again
		}
		s.p.Deliver(&driver.Message{Payload: []byte(m.Payload), Topic: mailbox, QoS: 1, ID: m.ID}, conn)
		last[m.Priority] = max(last[m.Priority], m.ID)
	}
	return s.acknowledge(ctx, mailbox, group, last)
}

// acknowledge confirms the last id of each priority, the lowest first: a broker
// that takes an id for all of them then skips the least.
func (s *session) acknowledge(ctx context.Context, mailbox, group string, last map[string]int64) error {
	for _, priority := range []string{"normal", "urgent", "critical"} {
		id, ok := last[priority]
		if !ok {
			continue
		}
		var out struct {
			Error string `json:"error"`
		}
		err := s.ask(ctx, "MSG.ACK."+mailbox, map[string]any{"group_name": group, "mail_address": mailbox, "msg_id": id}, &out)
		if err == nil && out.Error != "" {
			err = errors.New(out.Error)
		}
		if err != nil {
			return err
		}
		s.p.Acknowledged(id)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
