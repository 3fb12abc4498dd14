package exam

import (
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	mochi "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/conformance/mq9"
)

// A broker whose NATS port nobody serves is examined by MQTT all the same: those results
// come with the error, and the checks of mq9 as undecided.
func TestHoldKeepsWhatIsDone(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	broker := mochi.New(&mochi.Options{Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	listener := listeners.NewTCP(listeners.Config{ID: "mqtt", Address: "127.0.0.1:0"})
	for _, err := range []error{broker.AddHook(new(auth.AllowHook), nil), broker.AddListener(listener), broker.Serve()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { broker.Close() })
	at := candidate{nodes: 1, mqtt: [2]string{listener.Address(), listener.Address()}, nats: [2]string{nobody, nobody}}
	o := conformance.Options{Seed: 1, Wait: 500 * time.Millisecond}
	statements := slices.DeleteFunc(conformance.Statements(), func(s conformance.Statement) bool {
		return s.Group() != "unsubscribe"
	})
	mqtt := len(statements)
	statements = append(statements, mq9.Statements()[:3]...)

	results, err := hold(t.Context(), statements, at, o)
	if err == nil || !strings.Contains(err.Error(), nobody) || len(results) != mqtt+3 {
		t.Fatalf("%d results of %d checks, error %v", len(results), len(statements), err)
	}
	for _, r := range results {
		if (r.Version == conformance.MQ9) != (r.Verdict == conformance.Undecided) {
			t.Errorf("%s %s: %s %s", r.Version.Protocol(), r.Name, r.Verdict, r.Why)
		}
	}
	if results, err := hold(t.Context(), statements[mqtt:], at, o); err == nil || results != nil {
		t.Errorf("where nobody is: %v, error %v", results, err)
	}
}
