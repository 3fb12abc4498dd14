package conformance

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// A faithless hook makes mochi-mqtt break one rule on messages that are on their way to a client.
type faithless struct {
	mochi.HookBase
	lie     string
	clients *mochi.Clients
	topics  *mochi.TopicsIndex

	mu   sync.Mutex
	sent map[string]packets.Packet // the last message of QoS 1 or 2 to each client
	old  map[uint16]bool           // packet ids of messages that expire
	high map[string]bool           // clients and filters with a subscription of QoS 1 or 2
	full map[string]bool           // clients with no room for more
}

// The lies.
const (
	ignoresRefusals = "sends again what was refused"
	passesRefused   = "passes on what was refused"
	passesHalf      = "passes on what was taken half"
	forgetsHalf     = "forgets what was taken half"
	dropsExpired    = "drops the exchange of an expired message"
	endsSessions    = "ends sessions of connected clients"
	keepsCounting   = "counts what nothing will acknowledge"
	forgetsTaken    = "forgets what was under way when it was taken over"
	endsTheNext     = "ends the subscriptions of the connection that took over"
)

func (h *faithless) ID() string { return "faithless" }

func (h *faithless) Provides(b byte) bool {
	return slices.Contains([]byte{mochi.OnPacketRead, mochi.OnConnect, mochi.OnDisconnect, mochi.OnSessionEstablished, mochi.OnSubscribed, mochi.OnPacketEncode}, b)
}

func (h *faithless) OnPacketRead(cl *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	kind, drop := pk.FixedHeader.Type, false
	if h.lie == passesRefused && kind == packets.Puback && pk.ReasonCode >= 0x80 {
		h.pass(cl)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch h.lie {
	case ignoresRefusals:
		drop = pk.ReasonCode >= 0x80
	case dropsExpired:
		if kind == packets.Publish {
			h.old[pk.PacketID] = pk.Properties.MessageExpiryInterval > 0
		}
		drop = kind == packets.Pubrel && h.old[pk.PacketID]
	}
	if drop {
		return pk, packets.ErrRejectPacket
	}
	return pk, nil
}

// pass sends the other clients of a check the last message of a client.
func (h *faithless) pass(cl *mochi.Client) {
	h.mu.Lock()
	pk, ok := h.sent[cl.ID]
	delete(h.sent, cl.ID)
	h.mu.Unlock()
	token, _, _ := strings.Cut(pk.TopicName, "/")
	for id, other := range h.clients.GetAll() {
		if ok && id != cl.ID && strings.HasPrefix(id, token) {
			other.WritePacket(pk)
		}
	}
}

func (h *faithless) OnDisconnect(cl *mochi.Client, _ error, _ bool) {
	switch h.lie {
	case passesHalf:
		h.pass(cl)
	case endsTheNext:
		if !cl.IsTakenOver() {
			return
		}
		time.AfterFunc(100*time.Millisecond, func() { // well before a check has lingered
			if next, ok := h.clients.Get(cl.ID); ok {
				for filter := range next.State.Subscriptions.GetAll() {
					h.topics.Unsubscribe(filter, cl.ID)
				}
			}
		})
	}
}

func (h *faithless) OnConnect(cl *mochi.Client, _ packets.Packet) error {
	if old, ok := h.clients.Get(cl.ID); ok && (h.lie == forgetsHalf || h.lie == forgetsTaken && !old.Closed()) {
		for _, pk := range old.State.Inflight.GetAll(false) {
			old.State.Inflight.Delete(pk.PacketID)
		}
	}
	return nil
}

func (h *faithless) OnSubscribed(cl *mochi.Client, pk packets.Packet, _ []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lie != keepsCounting {
		return
	}
	for _, f := range pk.Filters {
		was := h.high[cl.ID+f.Filter]
		h.high[cl.ID+f.Filter] = f.Qos > 0
		h.full[cl.ID] = h.full[cl.ID] || was && f.Qos == 0
	}
}

// OnPacketEncode notes the last message of a client before it is sent, and withholds messages: what it
// cannot leave out becomes a packet that says nothing.
func (h *faithless) OnPacketEncode(cl *mochi.Client, pk packets.Packet) packets.Packet {
	h.mu.Lock()
	defer h.mu.Unlock()
	if pk.FixedHeader.Type == packets.Publish && pk.FixedHeader.Qos > 0 {
		h.sent[cl.ID] = pk
	}
	if h.full[cl.ID] && pk.FixedHeader.Type == packets.Publish && pk.FixedHeader.Qos > 0 {
		pk.FixedHeader = packets.FixedHeader{Type: packets.Pingresp}
	}
	return pk
}

func (h *faithless) OnSessionEstablished(cl *mochi.Client, pk packets.Packet) {
	if h.lie == endsSessions && pk.Properties.SessionExpiryInterval == 1 {
		time.AfterFunc(time.Second, func() { cl.Stop(packets.ErrKeepAliveTimeout) })
	}
}

// Each lie about messages on their way violates the statements that it breaks, and no others of those
// in the table.
func TestFaithless(t *testing.T) {
	t.Parallel()
	lies := map[string][]string{
		"none":          nil,
		ignoresRefusals: {"session/refused-is-not-sent-again"},
		passesRefused:   {"share/refused"},
		passesHalf:      {"share/session-ended"},
		forgetsHalf:     {"share/completes"},
		dropsExpired:    {"expiry/qos2-completes"},
		endsSessions:    {"session/lasts-while-connected"},
		keepsCounting:   {"subscribe/lowered-in-flight"},
		forgetsTaken:    {"take-over/resends-publish", "take-over/resends-pubrel", "take-over/qos2-state-of-receiver"},
		endsTheNext:     {"take-over/second-is-kept"},
	}
	for lie, violated := range lies {
		t.Run(lie, func(t *testing.T) {
			t.Parallel()
			statements := violated
			if lie == "none" {
				for _, names := range lies {
					statements = append(statements, names...)
				}
			}
			hook := &faithless{lie: lie, sent: map[string]packets.Packet{}, old: map[uint16]bool{}, high: map[string]bool{}, full: map[string]bool{}}
			var known []Known // or a violation is looked at again
			for _, name := range violated {
				known = append(known, Known{Name: name})
			}
			for _, r := range examined(t, Options{To: startMochi(t, hook), Statements: only(statements...), Known: known, Wait: 2 * time.Second}) {
				if want := map[bool]Verdict{true: Conforms, false: Violates}[lie == "none"]; r.Verdict != want {
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}
