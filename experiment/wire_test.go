package experiment

import (
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// A packet id may stand for two messages of QoS 2 for a while: a client uses it again
// after PUBREC, and PUBCOMP is still that of the first.
func TestAnAcknowledgementIsOfItsMessage(t *testing.T) {
	const first, second, none = 1, 2, history.None
	type step struct {
		kind   tap.Type // PUBLISH: the message that has the packet id from then on
		conn   int32
		reason byte
		want   int64
	}
	for name, steps := range map[string][]step{
		"one after the other": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first}, {tap.Pubcomp, 0, 0, first},
			{tap.Publish, 0, 0, second}, {tap.Pubrec, 0, 0, second}, {tap.Pubrel, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
		"used again before PUBCOMP": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first},
			{tap.Publish, 0, 0, second}, {tap.Pubcomp, 0, 0, first},
			{tap.Pubrec, 0, 0, second}, {tap.Pubrel, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
		"used again before PUBREL": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Publish, 0, 0, second},
			{tap.Pubrel, 0, 0, first}, {tap.Pubcomp, 0, 0, first}, {tap.Pubrec, 0, 0, second},
		},
		"used again, and PUBREC before PUBCOMP": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first},
			{tap.Publish, 0, 0, second}, {tap.Pubrec, 0, 0, second}, {tap.Pubcomp, 0, 0, first},
			{tap.Pubrel, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
		"used again, and both taken before PUBREL": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Publish, 0, 0, second}, {tap.Pubrec, 0, 0, second},
			{tap.Pubrel, 0, 0, first}, {tap.Pubrel, 0, 0, second}, {tap.Pubcomp, 0, 0, first}, {tap.Pubcomp, 0, 0, second},
		},
		"used again by QoS 1": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Publish, 0, 0, second}, {tap.Puback, 0, 0, second},
			{tap.Pubrel, 0, 0, first}, {tap.Pubcomp, 0, 0, first},
		},
		"PUBREL again on the next connection": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first},
			{tap.Pubrel, 1, 0, first}, {tap.Publish, 1, 0, second}, {tap.Pubcomp, 1, 0, first},
		},
		"given up with the connection": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Publish, 1, 0, second}, {tap.Pubcomp, 1, 0, second},
		},
		"written down late": {
			{tap.Publish, 1, 0, second}, {tap.Publish, 0, 0, first}, {tap.Puback, 1, 0, second},
		},
		"PUBREC refuses it": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0x97, first}, {tap.Publish, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
		"PUBCOMP twice": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first}, {tap.Pubcomp, 0, 0, first}, {tap.Pubcomp, 0, 0, first},
		},
		"PUBREC again behind PUBCOMP": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Pubrel, 0, 0, first}, {tap.Publish, 0, 0, first},
			{tap.Pubcomp, 0, 0, first}, {tap.Pubrec, 0, 0, first},
			{tap.Publish, 0, 0, second}, {tap.Pubrec, 0, 0, second}, {tap.Pubrel, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
		"PUBACK of a connection that was replaced": {
			{tap.Publish, 0, 0, first}, {tap.Publish, 1, 0, second}, {tap.Puback, 0, 0, none}, {tap.Puback, 1, 0, second},
		},
		"PUBREC twice": {
			{tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first}, {tap.Publish, 0, 0, first}, {tap.Pubrec, 0, 0, first},
			{tap.Pubrel, 0, 0, first}, {tap.Pubcomp, 0, 0, first}, {tap.Publish, 0, 0, second}, {tap.Pubcomp, 0, 0, second},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var ids messageIDs
			for i, s := range steps {
				if s.kind == tap.Publish {
					ids.set(7, message{stream: 3, conn: s.conn, seq: s.want})
					continue
				}
				got := ids.about(&tap.Packet{Kind: s.kind, ID: 7, Reason: s.reason}, s.conn)
				if got.seq != s.want {
					t.Errorf("step %d, %s: it is said to be of message %d, and is of %d", i, s.kind, got.seq, s.want)
				}
			}
		})
	}
}

func TestAPacketCostsNoAllocation(t *testing.T) {
	var ids messageIDs
	seq := int64(0)
	exchange := func() {
		ids.set(7, message{stream: 3, seq: seq})
		for _, kind := range []tap.Type{tap.Pubrec, tap.Pubrel, tap.Pubcomp} {
			if got := ids.about(&tap.Packet{Kind: kind, ID: 7}, 0); got.seq != seq {
				t.Fatalf("%s is said to be of message %d, and is of %d", kind, got.seq, seq)
			}
		}
		seq++
	}
	exchange() // makes its place
	if n := testing.AllocsPerRun(100, exchange); n > 0 {
		t.Errorf("an exchange of QoS 2 costs %v allocations", n)
	}
}

// A drain waits for PUBREL of what a client answered before it came back to its session, and for
// nothing else.
func TestWhatWaitsForPubrel(t *testing.T) {
	for name, test := range map[string]struct {
		then func(s *wireSession)
		want int
	}{
		"still there": {func(*wireSession) {}, 0},
		"away":        {func(s *wireSession) { s.up = false }, 0},
		"back":        {func(s *wireSession) { s.greet(1, true) }, 1},
		"back, anew":  {func(s *wireSession) { s.greet(1, false) }, 0},
		"back, sent again with another id": {func(s *wireSession) {
			s.greet(1, true)
			s.ids[1].set(8, message{stream: 3, conn: 1, seq: 1})
		}, 0},
		"back, answered twice and completed": {func(s *wireSession) {
			for _, kind := range []tap.Type{tap.Pubrel, tap.Pubrec, tap.Pubcomp} {
				s.ids[1].about(&tap.Packet{Kind: kind, ID: 7}, 0)
			}
			s.greet(1, true)
		}, 0},
		"back, replaced": {func(s *wireSession) { s.greet(2, true); s.greet(1, false) }, 1},
		"back, released": {func(s *wireSession) { s.greet(1, true); s.ids[1].about(&tap.Packet{Kind: tap.Pubrel, ID: 7}, 1) }, 0},
		"back, completed": {func(s *wireSession) {
			s.ids[1].about(&tap.Packet{Kind: tap.Pubrel, ID: 7}, 0)
			s.ids[1].about(&tap.Packet{Kind: tap.Pubcomp, ID: 7}, 0)
			s.greet(1, true)
		}, 0},
		"back, sent again": {func(s *wireSession) {
			s.greet(1, true)
			s.ids[1].set(7, message{stream: 3, conn: 1, seq: 1})
			s.ids[1].about(&tap.Packet{Kind: tap.Pubrec, ID: 7}, 1)
		}, 0},
	} {
		s := &wireSession{}
		s.greet(0, false)
		s.ids[1].set(7, message{stream: 3, seq: 1})
		s.ids[1].about(&tap.Packet{Kind: tap.Pubrec, ID: 7}, 0)
		test.then(s)
		w := &wire{sessions: map[string]*wireSession{"sub-1": s, "other": {process: 1}}}
		if n := w.unreleased([]int32{0}); n != test.want {
			t.Errorf("%s: %d messages wait for PUBREL, want %d", name, n, test.want)
		}
	}
}
