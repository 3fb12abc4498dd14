package conformance

import (
	"context"
	"errors"
	"testing"

	"github.com/mochi-mqtt/server/v2/packets"
)

// The order of messages is that of the QoS with which they were published: some brokers
// deliver with another one.
func TestOrderOfThePublishedQoS(t *testing.T) {
	x := &exam{setup: setup{token: "c1"}}
	m := &packet{Packet: packets.Packet{FixedHeader: packets.FixedHeader{Qos: 2}, Payload: x.payload(orderLabel(1, 3))}}
	if qos, i := x.ordered(m); qos != 1 || i != 3 {
		t.Errorf("number %d of QoS %d", i, qos)
	}
}

// A violation that was seen beside other checks counts if it is there again without them:
// where the command is stopped in between, nothing is said.
func TestStoppedBeforeTheSecondLook(t *testing.T) {
	statements := only("publish/puback", "publish/qos1-again")
	for _, parallel := range []int{1, 2} {
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		violates := func(s Statement, n int) Result {
			if n == len(statements) {
				stop()
			}
			return Result{Statement: s, Verdict: Violates, Packets: []string{"one"}}
		}
		results, err := Options{Parallel: parallel, Statements: statements}.Whole().Hold(ctx, violates)
		if !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		for i, r := range results {
			want := Undecided
			if parallel == 1 && i < len(statements)-1 { // nothing was beside it, and nobody had stopped it
				want = Violates
			}
			if r.Verdict != want {
				t.Errorf("%d at once, check %d: %s, want %s", parallel, i, r.Verdict, want)
			}
		}
	}
}
