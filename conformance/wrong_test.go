package conformance

import (
	"bytes"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/packets"
)

// A wrong hook makes mochi-mqtt break one rule.
type wrong struct {
	mochi.HookBase
	send       func(packets.Packet) packets.Packet // what a client is sent instead
	noWills    bool
	keeps      bool                      // what was unsubscribed
	closesNone bool                      // of the connections that it ends
	loses      func(packets.Packet) bool // what it takes and delivers to nobody
	refuses    string                    // subscriptions to a filter that ends so
}

// An unclosing listener has connections that the broker cannot close. It keeps
// them, as a connection that nobody keeps is closed by the garbage collector.
type unclosing struct {
	net.Listener
	mu   sync.Mutex
	kept []net.Conn
}

func (l *unclosing) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.kept = append(l.kept, conn)
	return unclosed{conn}, nil
}

func (l *unclosing) free() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, conn := range l.kept {
		conn.Close()
	}
}

type unclosed struct{ net.Conn }

func (unclosed) Close() error { return nil }

func (h *wrong) ID() string { return "wrong" }

func (h *wrong) Provides(b byte) bool {
	return b == mochi.OnPacketEncode && h.send != nil || b == mochi.OnWill && h.noWills || b == mochi.OnUnsubscribe && h.keeps || b == mochi.OnPublish && h.loses != nil || b == mochi.OnSubscribe && h.refuses != ""
}

func (h *wrong) OnPacketEncode(_ *mochi.Client, pk packets.Packet) packets.Packet { return h.send(pk) }

func (h *wrong) OnWill(_ *mochi.Client, w mochi.Will) (mochi.Will, error) {
	w.TopicName = "somewhere/else"
	return w, nil
}

func (h *wrong) OnUnsubscribe(_ *mochi.Client, pk packets.Packet) packets.Packet {
	pk.Filters = nil
	return pk
}

func (h *wrong) OnPublish(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	if h.loses(pk) {
		return pk, packets.CodeSuccessIgnore
	}
	return pk, nil
}

func (h *wrong) OnSubscribe(_ *mochi.Client, pk packets.Packet) packets.Packet {
	for i := range pk.Filters {
		if strings.HasSuffix(pk.Filters[i].Filter, h.refuses) {
			pk.Filters[i].Filter = "#/" // which nobody grants
		}
	}
	return pk
}

// published changes the messages that clients are sent.
func published(change func(*packets.Packet)) *wrong {
	return &wrong{send: func(pk packets.Packet) packets.Packet {
		if pk.FixedHeader.Type == packets.Publish {
			change(&pk)
		}
		return pk
	}}
}

func answered(kind byte, change func(*packets.Packet)) *wrong {
	return &wrong{send: func(pk packets.Packet) packets.Packet {
		if pk.FixedHeader.Type == kind {
			change(&pk)
		}
		return pk
	}}
}

// TestWrongBroker shows that the checks can fail. Each defect violates the
// statements that it breaks, in every version that has them, and no others of
// those tried with it. Without a defect none is violated.
func TestWrongBroker(t *testing.T) {
	t.Parallel()
	defects := []struct {
		name     string
		hook     *wrong
		violated []string
	}{
		{"no wills", &wrong{noWills: true}, []string{"will/published", "will/once"}},
		{"none", &wrong{}, nil},
		{"no retain flag", published(func(pk *packets.Packet) { pk.FixedHeader.Retain = false }), []string{"retained/flag", "retained/as-published"}},
		{"always a retain flag", published(func(pk *packets.Packet) { pk.FixedHeader.Retain = true }), []string{"retained/flag-of-live", "retained/as-published"}},
		{"DUP for nothing", published(func(pk *packets.Packet) { pk.FixedHeader.Dup = pk.FixedHeader.Qos > 0 }), []string{"publish/server-qos1", "publish/dup-is-not-passed-on"}},
		{"no DUP", published(func(pk *packets.Packet) { pk.FixedHeader.Dup = false }), []string{"session/resend-has-dup"}},
		{"one of QoS 0 too early", published(func(pk *packets.Packet) {
			if pk.FixedHeader.Qos == 0 {
				pk.Payload = bytes.Replace(pk.Payload, []byte("order 0 20"), []byte("order 0 40"), 1)
			}
		}), []string{"publish/in-order"}},
		{"one of QoS 1 too early", published(func(pk *packets.Packet) {
			for from, to := range map[string]string{"order 1 9": "order 1 10", "order 1 10": "order 1 9"} {
				if before, ok := bytes.CutSuffix(pk.Payload, []byte(from)); ok {
					pk.Payload = append(bytes.Clone(before), to...)
					break
				}
			}
		}), []string{"publish/in-order"}},
		{"lower case", published(func(pk *packets.Packet) { pk.TopicName = strings.ToLower(pk.TopicName) }), []string{"filter/no-normalization"}},
		{"text payloads", published(func(pk *packets.Packet) { pk.Payload, _, _ = bytes.Cut(pk.Payload, []byte{0}) }), []string{"publish/payload"}},
		{"sorted user properties", published(func(pk *packets.Packet) {
			pk.Properties.User = slices.SortedFunc(slices.Values(pk.Properties.User), func(a, b packets.UserProperty) int { return strings.Compare(a.Key, b.Key) })
		}), []string{"property/user-order"}},
		{"no user properties", published(func(pk *packets.Packet) { pk.Properties.User = nil }), []string{"property/user", "property/user-order"}},
		{"no content type", published(func(pk *packets.Packet) { pk.Properties.ContentType = "" }), []string{"property/content-type"}},
		{"unknown identifiers", published(func(pk *packets.Packet) { pk.Properties.SubscriptionIdentifier = nil }), []string{"property/subscription-identifier"}},
		{"an alias unasked", published(func(pk *packets.Packet) { pk.Properties.TopicAlias, pk.Properties.TopicAliasFlag = 7, true }), []string{"alias/none-unasked"}},
		{"expiry as it was", published(func(pk *packets.Packet) { pk.Properties.MessageExpiryInterval = 100 }), []string{"expiry/counts-down"}},
		{"codes in another order", answered(packets.Suback, func(pk *packets.Packet) { slices.Sort(pk.ReasonCodes) }), []string{"subscribe/codes-in-order"}},
		{"one code for all", answered(packets.Suback, func(pk *packets.Packet) { pk.ReasonCodes = pk.ReasonCodes[:1] }), []string{"subscribe/codes-in-order", "subscribe/code-for-each"}},
		{"no codes", answered(packets.Suback, func(pk *packets.Packet) { pk.ReasonCodes = nil }), []string{"subscribe/code-for-each", "unsubscribe/unsuback"}},
		{"always a session", answered(packets.Connack, func(pk *packets.Packet) { pk.SessionPresent = true }), []string{"session/not-present", "connect/no-session-when-clean"}},
		{"open connections", &wrong{closesNone: true}, []string{"take-over/closes-the-first", "refuse/second-connect", "malformed/publish-empty-topic", "malformed/publish-identifier", "disconnect/closes"}},
		{"a DISCONNECT for clients", answered(packets.Disconnect, func(pk *packets.Packet) {
			pk.ReasonCode = packets.CodeDisconnectWillMessage.Code
			pk.Properties.SessionExpiryInterval, pk.Properties.SessionExpiryIntervalFlag = 9, true
		}), []string{"disconnect/known-codes", "disconnect/no-session-expiry"}},
		{"never a session", answered(packets.Connack, func(pk *packets.Packet) { pk.SessionPresent = false }), []string{"session/present"}},
	}
	var names []string
	for _, d := range defects {
		names = append(names, d.violated...)
	}
	for _, d := range defects {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			statements := only(names...)
			if d.name != "none" { // and as many as tell it from others
				statements = only(append([]string{"connect/accepted", "publish/puback", "unsubscribe/unsuback"}, d.violated...)...)
			}
			var known []Known // so that what takes a whole wait to be seen is not looked at again
			for _, name := range d.violated {
				known = append(known, Known{Name: name})
			}
			for _, r := range examined(t, Options{To: startMochi(t, d.hook), Statements: statements, Known: known}) {
				want := Conforms
				if slices.Contains(d.violated, r.Name) {
					want = Violates
				}
				switch {
				case r.Verdict == want:
				case r.Verdict == Undecided && want == Conforms: // on a machine that is too busy
					t.Log(told(r))
				default:
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}

// A broker that sends what waits backwards keeps no order, and sends one for one all the
// same. mochi-mqtt by itself keeps no order either, but may hit the right one.
func TestWaitsBackwards(t *testing.T) {
	t.Parallel()
	backwards := published(func(pk *packets.Packet) {
		for i := range 10 {
			if before, ok := bytes.CutSuffix(pk.Payload, []byte(orderLabel(1, i))); ok {
				pk.Payload = append(bytes.Clone(before), orderLabel(1, 9-i)...)
				return
			}
		}
	})
	known := []Known{{Name: "flow/in-order"}}
	for _, r := range examined(t, Options{To: startMochi(t, backwards), Statements: only("flow/in-order", "flow/one-for-one"), Known: known}) {
		if want := map[string]Verdict{"flow/in-order": Violates, "flow/one-for-one": Conforms}[r.Name]; r.Verdict != want {
			t.Errorf("expected %s: %s", want, told(r))
		}
	}
}

// A retrying hook makes mochi-mqtt send again what a client does not answer.
type retrying struct {
	mochi.HookBase
	kind byte // of the packet
	qos  byte // of a PUBLISH
}

func (h *retrying) ID() string { return "retrying" }

func (h *retrying) Provides(b byte) bool { return b == mochi.OnPacketSent }

func (h *retrying) OnPacketSent(cl *mochi.Client, pk packets.Packet, _ []byte) {
	if head := pk.FixedHeader; head.Type == h.kind && (head.Type == packets.Pubrel || head.Qos == h.qos) && !head.Dup {
		time.AfterFunc(5*time.Second, func() { cl.ResendInflightMessages(true) })
	}
}

// Brokers send again some seconds later, if they do.
func TestSentAgain(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		hook mochi.Hook
		want Verdict
	}{
		"nothing": {&wrong{}, Conforms},
		"QoS 1":   {&retrying{kind: packets.Publish, qos: 1}, Violates},
		"QoS 2":   {&retrying{kind: packets.Publish, qos: 2}, Violates},
		"PUBREL":  {&retrying{kind: packets.Pubrel}, Violates},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := []Known{{Name: "session/no-resend-meanwhile"}}
			for _, r := range examined(t, Options{To: startMochi(t, test.hook), Statements: only("session/no-resend-meanwhile"), Known: known}) {
				if r.Verdict != test.want {
					t.Errorf("expected %s: %s", test.want, told(r))
				}
			}
		})
	}
}

// A broker that delivers nothing of what a check looks for has shown nothing of the statement.
func TestNothingToLookAt(t *testing.T) {
	t.Parallel()
	payload := func(text string) func(packets.Packet) bool {
		return func(pk packets.Packet) bool { return bytes.Contains(pk.Payload, []byte(text)) }
	}
	for _, test := range []struct {
		name, statement string
		hook            *wrong
		want            Verdict
	}{
		{"the last of QoS 0 is lost", "publish/in-order", &wrong{loses: payload("order 0 59")}, Conforms},
		{"all of QoS 0 are lost", "publish/in-order", &wrong{loses: payload("order 0 ")}, Undecided},
		{"large ones are lost", "flow/maximum-packet-size", &wrong{loses: payload("xxxxx")}, Undecided},
		{"deep topics are lost", "bound/topic-levels", &wrong{loses: func(pk packets.Packet) bool { return strings.Contains(pk.TopicName, "/a/a/") }}, Undecided},
		{"topics with $ are lost", "filter/dollar", &wrong{loses: func(pk packets.Packet) bool { return strings.HasPrefix(pk.TopicName, "$") }}, Unsupported},
		{"one beside many exchanges is lost", "publish/many-open", &wrong{loses: payload("m50")}, Violates},
		{"subscriptions are refused", "retained/removed", &wrong{refuses: "/t"}, Unsupported},
		{"subscriptions are refused", "retained/qos0-replaces", &wrong{refuses: "/t"}, Unsupported},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, r := range examined(t, Options{To: startMochi(t, test.hook), Statements: only(test.statement)}) {
				want := test.want
				if r.Name == "bound/topic-levels" && r.Version == V5 { // PUBACK could refuse it
					want = Violates
				}
				if r.Verdict != want {
					t.Errorf("expected %s: %s", want, told(r))
				}
			}
		})
	}
}

// A broker that ignores UNSUBSCRIBE violates the statement about that. The checks of filters
// see its messages as well, and accuse it of nothing else.
func TestFiltersAfterUnsubscribing(t *testing.T) {
	t.Parallel()
	for _, r := range examined(t, Options{To: startMochi(t, &wrong{keeps: true}), Statements: only("unsubscribe/stops", "filter/no-normalization")}) {
		want := map[string]Verdict{"unsubscribe/stops": Violates, "filter/no-normalization": Undecided}[r.Name]
		if r.Verdict != want || want == Undecided && !strings.Contains(r.Why, "which had been unsubscribed") {
			t.Errorf("expected %s: %s", want, told(r))
		}
	}
}
