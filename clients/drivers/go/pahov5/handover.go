package pahov5

import (
	"sync"

	"github.com/eclipse/paho.golang/paho"
)

// A handover lets calls of the SDK that wait for an answer overlap, and keeps
// the order in which their packets are written. The zero value is ready.
type handover struct {
	turn sync.Mutex

	mu   sync.Mutex
	sent chan struct{} // of the call whose turn it is
}

// over runs f, which has the SDK send one packet, and returns when that is
// written or f has returned. The channel is closed when f has returned.
func (h *handover) over(f func()) <-chan struct{} {
	h.turn.Lock()
	defer h.turn.Unlock()
	sent, done := make(chan struct{}, 1), make(chan struct{})
	h.mu.Lock()
	h.sent = sent
	h.mu.Unlock()
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-sent:
	case <-done:
	}
	return done
}

// A pinger is the SDK's own. The SDK tells it of every packet that it has
// written.
type pinger struct {
	*paho.DefaultPinger
	hand *handover
}

func (p *pinger) PacketSent() {
	p.DefaultPinger.PacketSent()
	p.hand.mu.Lock()
	defer p.hand.mu.Unlock()
	select {
	case p.hand.sent <- struct{}{}:
	default: // a second packet of the same call
	}
}
