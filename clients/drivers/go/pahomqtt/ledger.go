package pahomqtt

import (
	"strconv"
	"strings"
	"sync"

	"github.com/eclipse/paho.mqtt.golang/packets"

	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
)

// outbound is how the SDK's store names what this side sent.
const outbound = "o."

// A ledger is the SDK's store of messages in flight, and knows which call each
// of them is of. It outlives the clients that use it, as a file store would.
type ledger struct {
	*memory

	mu    sync.Mutex
	next  *driver.Call // of the publish that is being handed to the SDK
	calls map[string]*driver.Call
}

func newLedger() *ledger {
	l := &ledger{memory: newMemory(), calls: map[string]*driver.Call{}}
	l.memory.Open()
	return l
}

// Open and Close do nothing: the next client goes on with what is stored.
func (l *ledger) Open()  {}
func (l *ledger) Close() {}

// expect says whose message is stored next.
func (l *ledger) expect(call *driver.Call) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = call
}

// taken reports whether the message that was expected has been stored.
func (l *ledger) taken() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := l.next == nil
	l.next = nil
	return taken
}

// Put stores a message; of a publish it is called by Publish, before sending.
func (l *ledger) Put(key string, packet packets.ControlPacket) {
	if _, publish := packet.(*packets.PublishPacket); publish && strings.HasPrefix(key, outbound) {
		l.mu.Lock()
		if l.next != nil {
			l.calls[key], l.next = l.next, nil
		}
		l.mu.Unlock()
	}
	l.memory.Put(key, packet)
}

// Del deletes a message; of a publish it is called when PUBACK or PUBCOMP
// arrives.
func (l *ledger) Del(key string) {
	l.memory.Del(key)
	l.mu.Lock()
	call := l.calls[key]
	delete(l.calls, key)
	l.mu.Unlock()
	if call == nil {
		return
	}
	id, _ := strconv.ParseInt(strings.TrimPrefix(key, outbound), 10, 64) // the SDK's own key
	call.Return(driver.Ack{Outcome: driver.OK, ID: id})
}

// abandon gives up what has not been acknowledged.
func (l *ledger) abandon(why error) {
	l.mu.Lock()
	calls := l.calls
	l.calls = map[string]*driver.Call{}
	l.mu.Unlock()
	for _, call := range calls {
		call.Return(driver.Unknown(why))
	}
}
