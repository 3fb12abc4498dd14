//go:build !autoack

package pahomqtt

import (
	"sync"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

func cannot() []string { return []string{contract.CannotExactlyOnce} }

// withhold leaves it to the inbox to acknowledge what arrives.
func withhold(o *mqtt.ClientOptions) { o.SetAutoAckDisabled(true) }

// An inbox is where messages wait for the application. A callback of this SDK
// that blocks also blocks its reading of ping responses, and so loses the
// connection; so the callback only queues, and the acknowledgement is sent
// when the application is done with the message.
type inbox struct {
	p       *driver.Process
	mu      sync.Mutex
	arrived *sync.Cond
	items   []item
	closed  bool
	stopped chan struct{}
}

type item struct {
	mqtt.Message
	conn *driver.Conn
}

func newInbox(p *driver.Process) *inbox {
	b := &inbox{p: p, stopped: make(chan struct{})}
	b.arrived = sync.NewCond(&b.mu)
	go b.run()
	return b
}

func (b *inbox) put(m mqtt.Message, conn *driver.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, item{m, conn})
	b.arrived.Signal()
}

func (b *inbox) take() (item, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.items) == 0 && !b.closed {
		b.arrived.Wait()
	}
	if len(b.items) == 0 {
		return item{}, false
	}
	first := b.items[0]
	b.items = b.items[1:]
	return first, true
}

func (b *inbox) run() {
	defer close(b.stopped)
	for {
		m, ok := b.take()
		if !ok {
			return
		}
		// A message that waited longer than its connection lasted was not
		// acknowledged, so the broker sends it again. At QoS 0 this is the only copy.
		if !b.p.Hold(m.conn) && m.Qos() > 0 {
			continue
		}
		b.p.Deliver(message(m), m.conn)
		m.Ack()
	}
}

// close lets the last message out and returns when it is.
func (b *inbox) close() {
	b.mu.Lock()
	b.closed = true
	b.arrived.Signal()
	b.mu.Unlock()
	<-b.stopped
}
