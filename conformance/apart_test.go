package conformance

import (
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// A farNode hook makes mochi-mqtt as one of two nodes of a right broker: that a clean start
// discarded subscriptions it learns with the next subscription of the client. Messages that
// came before are passed on before, although mochi-mqtt acknowledges them first.
type farNode struct {
	mochi.HookBase
	topics  *mochi.TopicsIndex
	mu      sync.Mutex
	first   map[string]packets.Subscription // of each client
	passing int                             // messages that came, and are not passed on yet
	passed  *sync.Cond
}

func newFarNode() *farNode {
	h := &farNode{first: map[string]packets.Subscription{}}
	h.passed = sync.NewCond(&h.mu)
	return h
}

func (h *farNode) ID() string { return "far node" }

func (h *farNode) Provides(b byte) bool {
	return b == mochi.OnSubscribed || b == mochi.OnPacketEncode || b == mochi.OnPublish || b == mochi.OnPublished
}

func (h *farNode) OnPublish(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passing++
	return pk, nil
}

func (h *farNode) OnPublished(*mochi.Client, packets.Packet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.passing--
	h.passed.Broadcast()
}

func (h *farNode) OnSubscribed(cl *mochi.Client, pk packets.Packet, _ []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, again := h.first[cl.ID]; again && cl.Properties.Clean {
		h.topics.Unsubscribe(old.Filter, cl.ID)
	} else if !again {
		h.first[cl.ID] = pk.Filters[0]
	}
}

func (h *farNode) OnPacketEncode(cl *mochi.Client, pk packets.Packet) packets.Packet {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, again := h.first[cl.ID]; again && pk.FixedHeader.Type == packets.Connack && cl.Properties.Clean {
		for h.passing > 0 {
			h.passed.Wait()
		}
		h.topics.Subscribe(cl.ID, old)
	}
	return pk
}

// A node may learn late that a clean start on another one discarded a session.
func TestDiscardedApart(t *testing.T) {
	t.Parallel()
	at := startMochi(t, newFarNode())
	for _, r := range examined(t, Options{From: strings.Replace(at, "127.0.0.1", "localhost", 1), To: at, Statements: only("session/clean-discards")}) {
		if r.Verdict != Conforms {
			t.Error(told(r))
		}
	}
}

// A sessionNode hook makes mochi-mqtt as two nodes with sessions that are told of late, or by
// the node alone that made them.
type sessionNode struct {
	mochi.HookBase
	late  time.Duration // 0: never
	mu    sync.Mutex
	taken map[string]int       // how often each client connected
	left  map[string]time.Time // when it went
}

func (h *sessionNode) ID() string { return "session node" }

func (h *sessionNode) Provides(b byte) bool {
	return b == mochi.OnDisconnect || b == mochi.OnPacketEncode
}

func (h *sessionNode) OnDisconnect(cl *mochi.Client, _ error, _ bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[cl.ID] = time.Now()
}

func (h *sessionNode) OnPacketEncode(cl *mochi.Client, pk packets.Packet) packets.Packet {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pk.FixedHeader.Type == packets.Connack {
		h.taken[cl.ID]++
		known := h.late > 0 && time.Since(h.left[cl.ID]) > h.late
		pk.SessionPresent = pk.SessionPresent && (known || h.taken[cl.ID] > 2) // the second CONNECT made one
	}
	return pk
}

// A session that the check itself made at the other node is none that was found there.
func TestSessionApart(t *testing.T) {
	t.Parallel()
	for late, want := range map[time.Duration]Verdict{0: Violates, 300 * time.Millisecond: Conforms} {
		at := startMochi(t, &sessionNode{late: late, taken: map[string]int{}, left: map[string]time.Time{}})
		for _, r := range examined(t, Options{From: strings.Replace(at, "127.0.0.1", "localhost", 1), To: at, Statements: only("session/present"), Parallel: 1}) {
			if r.Verdict != want {
				t.Errorf("expected %s: %s", want, told(r))
			}
		}
	}
}

// A lateRetainer hook makes mochi-mqtt send retained messages some time after SUBACK, as
// brokers do that look for them meanwhile.
type lateRetainer struct {
	mochi.HookBase
	topics *mochi.TopicsIndex
	drops  bool // what is not sent yet when the subscription ends
}

func (h *lateRetainer) ID() string { return "late retainer" }

func (h *lateRetainer) Provides(b byte) bool {
	return b == mochi.OnSubscribe || b == mochi.OnSubscribed
}

func (h *lateRetainer) OnSubscribe(_ *mochi.Client, pk packets.Packet) packets.Packet {
	for i := range pk.Filters {
		pk.Filters[i].RetainHandling = 2 // mochi itself sends none
	}
	return pk
}

func (h *lateRetainer) OnSubscribed(cl *mochi.Client, pk packets.Packet, _ []byte) {
	time.AfterFunc(20*time.Millisecond, func() {
		for _, f := range pk.Filters {
			if _, there := cl.State.Subscriptions.Get(f.Filter); h.drops && !there {
				continue
			}
			for _, m := range h.topics.Messages(f.Filter) {
				out := m.Copy(false)
				out.FixedHeader.Retain, out.FixedHeader.Qos = true, min(m.FixedHeader.Qos, f.Qos)
				if id, err := cl.NextPacketID(); err == nil {
					out.PacketID = uint16(id)
				}
				cl.WritePacket(out)
			}
		}
	})
}

// A retained message may come after the answer to a PINGREQ that was sent behind SUBSCRIBE.
func TestRetainedLate(t *testing.T) {
	t.Parallel()
	for _, drops := range []bool{false, true} {
		at := startMochi(t, &lateRetainer{drops: drops})
		for _, r := range examined(t, Options{
			From: strings.Replace(at, "127.0.0.1", "localhost", 1), To: at,
			Statements: only("retained/sent", "retained/flag", "retained/every-topic", "retained/not-without-flag", "subscribe/replaced-retained", "will/retained"),
		}) {
			switch r.Verdict {
			case Conforms:
			case Undecided: // on a machine that is too busy
				t.Log(told(r))
			default:
				t.Errorf("drops %t: %s", drops, told(r))
			}
		}
	}
}
