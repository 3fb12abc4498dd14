package driver

import (
	"errors"
	"fmt"
	"sync"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// A reader reads registers: one clean session after the other, and in each
// what is retained on one topic after the other.
type reader struct {
	parent  *Process
	stop    chan struct{}
	stopped chan struct{}
}

func (r *reader) Connect() {
	r.stop, r.stopped = make(chan struct{}), make(chan struct{})
	go r.run()
}

func (r *reader) Disconnect() {
	close(r.stop)
	<-r.stopped
}

func (r *reader) Subscribe(contract.Filter) Ack { return Failed(errors.New("a reader of registers")) }

func (r *reader) Publish(call *Call, _ contract.Stream, _ []byte) {
	call.Return(Failed(errors.New("a reader of registers")))
}

func (r *reader) run() {
	defer close(r.stopped)
	for r.parent.pause.wait(r.stop) {
		r.round()
		if !sleep(milliseconds(r.parent.client.ReadRegisters.EveryMS), r.stop) {
			return
		}
	}
}

// round reads every register once.
func (r *reader) round() {
	client := r.parent.client
	client.Clean, client.ExpiryS, client.Subscribe, client.Publish, client.ReadRegisters = true, 0, nil, nil, nil
	p := newProcess(r.parent.sdk, r.parent.spec, client, r.parent.w)
	ready := make(chan *Conn, 1)
	seen := newRetained()
	p.onReady = func(c *Conn) {
		select {
		case ready <- c:
		default: // the connection is a second one; the round ended with the first
		}
	}
	p.onMessage = seen.put
	p.session.Connect()
	defer p.session.Disconnect()
	select {
	case c := <-ready:
		for _, topic := range r.registers().Topics {
			if !r.fetch(p, c, topic, seen) {
				return
			}
		}
	case <-r.stop:
	}
}

func (r *reader) registers() *contract.ReadRegisters { return r.parent.client.ReadRegisters }

// fetch reads one register. It is false when the session is of no more use.
func (r *reader) fetch(p *Process, c *Conn, topic string, seen *retained) bool {
	call := p.open(&contract.Line{Kind: "fetch", Text: topic})
	if ack := p.session.Subscribe(contract.Filter{Filter: topic, QoS: 1}); ack.Outcome != OK {
		call.Return(ack)
		return false
	}
	empty := after(milliseconds(r.registers().WaitMS), r.stop)
	for {
		select {
		case <-seen.came:
			if m := seen.take(topic); m != nil {
				call.Return(Ack{Outcome: OK, Read: m})
				return true
			}
		case <-empty:
			select {
			case <-r.stop:
				call.Return(Unknown(errGone))
				return false
			default:
				call.Return(Ack{Outcome: OK})
				return true
			}
		case <-c.Done():
			call.Return(Unknown(fmt.Errorf("connection lost while reading %s", topic)))
			return false
		}
	}
}

// retained are the retained messages that a round was sent, the first of each
// topic. It drops none, however many others come with them.
type retained struct {
	came chan struct{} // has one when there is something new

	mu sync.Mutex
	of map[string]*Message
}

func newRetained() *retained {
	return &retained{came: make(chan struct{}, 1), of: map[string]*Message{}}
}

func (r *retained) put(m *Message) {
	if !m.Retain {
		return
	}
	r.mu.Lock()
	if r.of[m.Topic] == nil {
		r.of[m.Topic] = m
	}
	r.mu.Unlock()
	select {
	case r.came <- struct{}{}:
	default:
	}
}

// take answers that of a topic, nil for none.
func (r *retained) take(topic string) *Message {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[topic]
}
