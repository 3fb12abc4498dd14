package cluster

import (
	"io"
	"log/slog"
	"strings"
	"testing"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"
	"github.com/mochi-mqtt/server/v2/packets"
)

// A limiting is a broker that treats a client's messages as it is told.
type limiting struct {
	mochi.HookBase
	publish func(*mochi.Client, packets.Packet) (packets.Packet, error)
}

func (h *limiting) ID() string { return "limiting" }

func (h *limiting) Provides(b byte) bool { return b == mochi.OnPublish }

func (h *limiting) OnPublish(c *mochi.Client, pk packets.Packet) (packets.Packet, error) {
	return h.publish(c, pk)
}

// A login that may not publish below rmq/, or not with the size of a scenario, is known before
// a run is made, also where the broker acknowledges the message.
func TestReachForbidden(t *testing.T) {
	type publish = func(*mochi.Client, packets.Packet) (packets.Packet, error)
	taken := func(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) { return pk, nil }
	dropped := func(_ *mochi.Client, pk packets.Packet) (packets.Packet, error) { return pk, packets.CodeSuccessIgnore }
	for _, test := range []struct {
		name    string
		publish publish
		rights  auth.Access // to rmq/#
		want    string      // "": it is fit for a run
	}{
		{"all is allowed", taken, auth.ReadWrite, ""},
		{"no message", dropped, auth.ReadWrite, "takes messages of 300 bytes to rmq/"},
		{"small messages", func(c *mochi.Client, pk packets.Packet) (packets.Packet, error) {
			if len(pk.Payload) > 200 {
				return dropped(c, pk)
			}
			return pk, nil
		}, auth.ReadWrite, "with messages of that size"},
		{"the connection ends", func(c *mochi.Client, pk packets.Packet) (packets.Packet, error) {
			c.Stop(packets.ErrNotAuthorized)
			return pk, packets.ErrNotAuthorized
		}, auth.ReadWrite, "the connection ended"},
		{"no subscription", taken, auth.WriteOnly, "refuses a subscription to rmq/"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s := mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
			ledger := &auth.Ledger{Auth: auth.AuthRules{{Allow: true}}, ACL: auth.ACLRules{{Filters: auth.Filters{"rmq/#": test.rights}}}}
			listener := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
			for _, err := range []error{s.AddHook(new(auth.Hook), &auth.Options{Ledger: ledger}), s.AddHook(&limiting{publish: test.publish}, nil), s.AddListener(listener), s.Serve()} {
				if err != nil {
					t.Fatal(err)
				}
			}
			t.Cleanup(func() { s.Close() })
			err := Reach(t.Context(), Config{Flavor: "external", Endpoints: []string{listener.Address()}}, "", 300)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}
