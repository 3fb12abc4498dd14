//go:build autoack

package pahomqtt

import (
	"sync"

	mqtt "github.com/eclipse/paho.mqtt.golang"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// cannot: the callback has to block while it is paused, and with it the reading
// of ping responses.
func cannot() []string {
	return []string{contract.CannotExactlyOnce, contract.CannotPauseConnected}
}

func withhold(*mqtt.ClientOptions) {}

// An inbox is the application: the SDK acknowledges a message as soon as put
// returns.
type inbox struct {
	p      *driver.Process
	mu     sync.Mutex
	closed bool
}

func newInbox(p *driver.Process) *inbox { return &inbox{p: p} }

func (b *inbox) put(m mqtt.Message, conn *driver.Conn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Received is acknowledged: what a lost connection lets through here is
	// delivered all the same.
	b.p.Hold(conn)
	if !b.closed {
		b.p.Deliver(message(m), conn)
	}
}

// close lets the last message out and returns when it is.
func (b *inbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
}
