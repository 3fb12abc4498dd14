package driver

import (
	"errors"
	"fmt"

	"github.com/robustmq/rmq-mcp/clients"
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

func (r *reader) Subscribe(clients.Filter) Ack { return Failed(errors.New("a reader of registers")) }

func (r *reader) Publish(call *Call, _ clients.Stream, _ []byte) {
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
	messages := make(chan *Message, 16)
	p.onReady = func(c *Conn) {
		select {
		case ready <- c:
		default: // the connection is a second one; the round ended with the first
		}
	}
	p.onMessage = func(m *Message) {
		select {
		case messages <- m:
		default: // not retained messages that nobody waits for
		}
	}
	p.session.Connect()
	defer p.session.Disconnect()
	select {
	case c := <-ready:
		for _, topic := range r.registers().Topics {
			if !r.fetch(p, c, topic, messages) {
				return
			}
		}
	case <-r.stop:
	}
}

func (r *reader) registers() *clients.ReadRegisters { return r.parent.client.ReadRegisters }

// fetch reads one register. It is false when the session is of no more use.
func (r *reader) fetch(p *Process, c *Conn, topic string, messages <-chan *Message) bool {
	call := p.open(&clients.Line{K: "fetch", X: topic})
	if ack := p.session.Subscribe(clients.Filter{Filter: topic, QoS: 1}); ack.Outcome != OK {
		call.Return(ack)
		return false
	}
	empty := after(milliseconds(r.registers().WaitMS), r.stop)
	for {
		select {
		case m := <-messages:
			if m.Retain && m.Topic == topic {
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
