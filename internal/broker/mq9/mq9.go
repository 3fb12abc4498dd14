// Package mq9 serves the mq9 protocol on JetStream: mailboxes of messages that are
// sent, fetched by groups and acknowledged, over NATS request and reply. Every node
// of a cluster serves every mailbox, and keeps its data in streams with replicas. The
// mq9 scenarios can pass on it.
//
// A message's id is its number in the one stream of all mailboxes, so that ids ascend
// in each mailbox without being dense. The search of agents by meaning is documented
// but not served.
package mq9

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// storeBound is how long a request may wait for the streams. A request that
// took longer is not answered: nobody knows whether it took effect.
const storeBound = 5 * time.Second

// maxRequests are served at once; more wait.
const maxRequests = 256

// A service answers the requests of one node.
type service struct {
	nc       *nats.Conn
	js       jetstream.JetStream
	replicas int
	leads    func() bool
	slots    chan struct{}
	sending  lanes // by mailbox

	opening sync.Mutex
	store   *store // nil until the first request

	mu    sync.Mutex
	known map[string]mailbox // mailboxes seen, by address

	plant *planted // nil for none
}

// Subjects is the subject of all requests as clients send them. The node that a
// client is connected to maps it to the node's own subject, [At]. Without that, the
// nodes of a queue group would share the requests at random, and one client's
// requests would lose their order.
const Subjects = prefix + ">"

// At is where a node serves the requests of its own clients.
func At(node string) string { return "mq9.at." + token(node) + ".>" }

// Serve serves the requests that arrive on a connection until it is closed. Those of
// the node's own clients arrive at the subject that they are mapped to. While a node
// starts or stops, requests arrive unmapped and are shared with the other nodes of a
// queue group. The first request makes the streams: a cluster without mq9 clients has
// none. The handler serves the pages that list mailboxes and agents.
//
// leads reports whether this node leads the cluster's metadata, which a single node
// always does. plant is the defect that it shows, "" for none.
func Serve(nc *nats.Conn, at string, replicas int, leads func() bool, plant string) (http.Handler, error) {
	js, err := jetstream.New(nc, jetstream.WithPublishAsyncTimeout(storeBound)) // what is not answered is forgotten
	if err != nil {
		return nil, fmt.Errorf("serve mq9: %w", err)
	}
	s := &service{nc: nc, js: js, replicas: replicas, leads: leads, slots: make(chan struct{}, maxRequests), known: map[string]mailbox{}}
	if plant != "" {
		p, err := FindPlant(plant)
		if err != nil {
			return nil, fmt.Errorf("serve mq9: %w", err)
		}
		s.plant = newPlanted(p)
	}
	take := func(m *nats.Msg) {
		m.Subject = prefix + strings.TrimPrefix(strings.TrimPrefix(m.Subject, strings.TrimSuffix(at, ">")), prefix)
		r := &request{Msg: m, turn: turn{leave: func() {}}}
		if strings.HasPrefix(m.Subject, subjectSend) {
			r.turn = s.sending.enter(m.Subject)
		}
		s.slots <- struct{}{}
		go func() {
			defer func() { <-s.slots }()
			s.answer(r)
		}()
	}
	_, err = nc.Subscribe(at, take)
	if err == nil && at != Subjects {
		_, err = nc.QueueSubscribe(Subjects, "mq9", take)
	}
	if err == nil {
		_, err = nc.Subscribe(subjectOpen, func(*nats.Msg) {
			if leads() {
				go s.openNow()
			}
		})
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		return nil, fmt.Errorf("serve mq9: %w", err)
	}
	return s.pages(), nil
}

func (s *service) openNow() {
	ctx, cancel := context.WithTimeout(context.Background(), storeBound)
	defer cancel()
	s.open(ctx) // who asked looks again
}

// errSilent is of a request whose outcome is unknown: it gets no answer.
var errSilent = errors.New("no answer")

// A request is what arrived, with its place among those of its mailbox.
type request struct {
	*nats.Msg
	turn turn
}

func (s *service) answer(m *request) {
	defer m.turn.leave()
	ctx, cancel := context.WithTimeout(context.Background(), storeBound)
	defer cancel()
	reply, err := s.carryOut(ctx, m)
	switch {
	case unknown(err):
		return
	case err != nil:
		reply = errorReply{err.Error()}
	}
	if m.Reply == "" {
		return
	}
	text, err := json.Marshal(reply)
	if err != nil {
		text, _ = json.Marshal(errorReply{err.Error()}) // strings always marshal
	}
	m.Respond(text) // a client that is gone needs none
}

// unknown reports whether a request may have taken effect although it failed.
func unknown(err error) bool {
	return errors.Is(err, errSilent) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout)
}

func (s *service) carryOut(ctx context.Context, m *request) (any, error) {
	if err := s.open(ctx); err != nil {
		return nil, err
	}
	for _, r := range []struct {
		subject string
		do      func(ctx context.Context, data []byte) (any, error)
	}{
		{subjectCreate, s.create}, {subjectRegister, s.register}, {subjectUnregister, s.unregister},
		{subjectReport, s.report}, {subjectDiscover, s.discover},
	} {
		if m.Subject == r.subject {
			if s.plant != nil && m.Subject == subjectCreate {
				return r.do(ctx, s.plant.asked(m.Data))
			}
			return r.do(ctx, m.Data)
		}
	}
	for _, r := range []struct {
		prefix string
		do     func(ctx context.Context, address string, m *request) (any, error)
	}{
		{subjectSend, s.send}, {subjectFetch, s.fetch}, {subjectAck, s.ack},
		{subjectQuery, s.query}, {subjectDelete, s.delete},
	} {
		if address, ok := strings.CutPrefix(m.Subject, r.prefix); ok && address != "" {
			if s.plant != nil {
				return s.plant.do(ctx, address, m, r.do)
			}
			return r.do(ctx, address, m)
		}
	}
	return nil, fmt.Errorf("unrecognized mq9 subject: %s", m.Subject)
}

// read reads a request's JSON.
func read(what string, data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("invalid %s payload: %w", what, err)
	}
	return nil
}
