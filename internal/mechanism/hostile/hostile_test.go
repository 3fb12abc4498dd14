package hostile

import (
	"bufio"
	"context"
	"io"
	"net"
	"os"
	"reflect"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A conversation is the same whenever it is made, and each number is another.
func TestConversations(t *testing.T) {
	seen := map[string]int{}
	kinds := map[string]int{}
	for n := range 2000 {
		c := Converse(7, n, "", Login{User: "u", Password: "p"})
		if !reflect.DeepEqual(c, Converse(7, n, "", Login{User: "u", Password: "p"})) {
			t.Fatalf("conversation %d is another the second time", n)
		}
		if len(c.Packets) == 0 {
			t.Errorf("conversation %d, %s, says nothing", n, c.Kind)
		}
		size := 0
		for _, p := range c.Packets {
			size += len(p)
		}
		if size > 4<<20 {
			t.Errorf("conversation %d, %s, has %d bytes", n, c.Kind, size)
		}
		kinds[c.Kind]++
		text := ""
		for _, p := range c.Packets {
			text += string(p[:min(len(p), 4096)])
		}
		seen[text]++
	}
	if len(kinds) != len(Kinds()) {
		t.Errorf("of %q there are only %v", Kinds(), kinds)
	}
	if len(seen) < 1900 {
		t.Errorf("%d of 2000 conversations differ", len(seen))
	}
	for _, kind := range Kinds() {
		if c := Converse(7, 1, kind, Login{}); c.Kind != kind {
			t.Errorf("%s was asked for, it is %s", kind, c.Kind)
		}
	}
}

// answering sends an answer to whatever it reads, and reads on.
func answering(answer []byte) func(net.Conn) {
	return func(c net.Conn) {
		for buf := make([]byte, 1<<16); ; {
			if _, err := c.Read(buf); err != nil {
				return
			}
			c.Write(answer)
		}
	}
}

func TestAnswers(t *testing.T) {
	said := Conversation{Level: 4, Packets: [][]byte{{0xff, 0}}}
	for _, test := range []struct {
		name  string
		serve func(net.Conn)
		say   Conversation
		want  Answer
	}{
		{"closes", func(c net.Conn) { c.Read(make([]byte, 1)) }, said, Refused},
		{"says no", answering([]byte{0x20, 2, 0, 5}), said, Refused},
		{"says goodbye", answering([]byte{0xe0, 0}), said, Refused},
		{"answers PINGREQ", answering([]byte{0xd0, 0}), said, Tolerated},
		{"answers the PINGREQ before and closes", func(c net.Conn) {
			c.Write([]byte{0xd0, 0})
			c.Read(make([]byte, 100))
		}, Conversation{Level: 4, Packets: [][]byte{pingreq(), {0x90, 0}}}, Refused},
		{"says nothing", answering(nil), said, Silent},
		{"says something else", answering([]byte{0x20, 2, 0, 0}), said, Deaf},
		{"sends what is no packet", answering([]byte{0x30, 1, 0}), said, Silent},
		{"sees the end of what is cut off", answering(nil), Conversation{Level: 4, Packets: [][]byte{{0x10, 9}}, Cut: true}, Refused},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			conn, err := net.Dial("tcp", hosttest.Serve(t, test.serve))
			if err != nil {
				t.Fatal(err)
			}
			if got := test.say.Hold(t.Context(), conn, 500*time.Millisecond); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// If a node goes down, the conversations from before are kept with their packets.
func TestSuspects(t *testing.T) {
	var down atomic.Bool
	crowd := NewCrowd(func(ctx context.Context, node string) (net.Conn, error) {
		if down.Load() {
			return nil, syscall.ECONNREFUSED
		}
		ours, theirs := net.Pipe()
		go func() {
			n, _ := theirs.Read(make([]byte, 1<<16))
			if n > 1000 { // it cannot bear what is long
				down.Store(true)
			}
			theirs.Close()
		}()
		return ours, nil
	}, Login{})
	crowd.Show("node-1", []Rule{{Fault: "f1", Do: Talk, Seed: 1, Step: 1, Last: 1e6, RatePerS: 500}})
	for deadline := time.Now().Add(20 * time.Second); crowd.Tally("node-1", "f1").Answers[Unheard] == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("it never went down: %v", crowd.Tally("node-1", "f1"))
		}
	}
	crowd.Show("node-1", nil)
	if crowd.Busy("f1") {
		t.Error("it was ended, and is busy")
	}
	long := false
	for _, s := range crowd.Tally("node-1", "f1").Suspects {
		if s.Hex == nil || s.Answer != Refused {
			t.Errorf("%+v", s)
		}
		for _, p := range Converse(1, s.Number, "", Login{}).Packets {
			long = long || len(p) > 1000
		}
	}
	if !long {
		t.Errorf("what it died of is not among the suspects: %v", crowd.Tally("node-1", "f1"))
	}
}

// A flood holds as many as it was told, and opens again what ends.
func TestFlood(t *testing.T) {
	for _, handshake := range []string{NoHandshake, SlowHandshake, WholeHandshake} {
		t.Run(handshake, func(t *testing.T) {
			t.Parallel()
			var first atomic.Bool
			at := hosttest.Serve(t, func(c net.Conn) {
				if first.CompareAndSwap(false, true) {
					return
				}
				answering(nil)(c)
			})
			crowd := NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
				return new(net.Dialer).DialContext(ctx, "tcp", at)
			}, Login{})
			crowd.Show("node-1", []Rule{{Fault: "f1", Do: Flood, Step: 1, Connections: 20, Handshake: handshake}})
			for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
				if got := crowd.Tally("node-1", "f1"); len(got.Open) == 20 && got.Opened == 21 && got.Tried == 20 {
					break
				} else if time.Now().After(deadline) {
					t.Fatalf("%d are open, %d were", len(got.Open), got.Opened)
				}
			}
			crowd.Close()
			if got := crowd.Tally("node-1", "f1"); len(got.Open) != 0 {
				t.Errorf("closed, %d are open", len(got.Open))
			}
		})
	}
}

// Connections that this host cannot open never came to the node; those that a node refuses did.
func TestFloodThatIsNotOpened(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		came int64
	}{"no more files": {syscall.EMFILE, 1}, "no more ports": {syscall.EADDRNOTAVAIL, 1}, "refused": {syscall.ECONNREFUSED, 20}} {
		t.Run(name, func(t *testing.T) {
			var dials atomic.Int64
			silent := hosttest.Serve(t, func(c net.Conn) { io.Copy(io.Discard, c) })
			crowd := NewCrowd(func(context.Context, string) (net.Conn, error) {
				if dials.Add(1) > 1 {
					return nil, &net.OpError{Op: "dial", Err: os.NewSyscallError("socket", test.err)}
				}
				return net.Dial("tcp", silent)
			}, Login{})
			crowd.Show("node-1", []Rule{{Fault: "f1", Do: Flood, Connections: 20, Handshake: NoHandshake}})
			t.Cleanup(func() { crowd.Show("node-1", nil) })
			for end := time.Now().Add(hosttest.Bound); dials.Load() < 30 || crowd.Tally("node-1", "f1").Tried != test.came; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("%d dials, %d came, want %d", dials.Load(), crowd.Tally("node-1", "f1").Tried, test.came)
				}
			}
		})
	}
}

// A client that pours publishes as fast as is acknowledged, with no more on their
// way than its window, and goes on where its connection ends.
func TestPour(t *testing.T) {
	const window = 5
	var first atomic.Bool
	at := hosttest.Serve(t, func(c net.Conn) {
		r, acked := bufio.NewReader(c), 0
		if _, err := io.ReadFull(r, make([]byte, len(Connect(0, 0, Login{})))); err != nil {
			return
		}
		c.Write([]byte{0x20, 2, 0, 0})
		for {
			pk, err := mqttpacket.Read(r, 4)
			if err != nil {
				return
			}
			if len(pk.Payload) != 100 || pk.FixedHeader.Type != packets.Publish || pk.FixedHeader.Qos != 1 {
				t.Errorf("%+v", pk)
			}
			if acked++; acked > 50 && first.CompareAndSwap(false, true) {
				return
			}
			c.Write([]byte{0x40, 2, byte(pk.PacketID >> 8), byte(pk.PacketID)})
		}
	})
	silent := hosttest.Serve(t, func(c net.Conn) {
		c.Read(make([]byte, 1<<16))
		c.Write([]byte{0x20, 2, 0, 0})
		answering(nil)(c)
	})
	for _, test := range []struct {
		at    string
		until func(Tally) bool
	}{
		{at, func(g Tally) bool { return g.Acked > 200 && g.Published-g.Acked <= 2*window }},
		{silent, func(g Tally) bool { return g.Acked == 0 && g.Published == window }},
	} {
		crowd := NewCrowd(func(ctx context.Context, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", test.at)
		}, Login{})
		crowd.Show("node-1", []Rule{{Fault: "f1", Do: Pour, Step: 1, Connections: 1, Window: window, PayloadBytes: 100}})
		for deadline := time.Now().Add(20 * time.Second); !test.until(crowd.Tally("node-1", "f1")); time.Sleep(10 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%+v", crowd.Tally("node-1", "f1"))
			}
		}
		crowd.Close()
		if crowd.Busy("f1") {
			t.Error("closed, and busy")
		}
	}
}

// A short packet ends, by its own length, inside its topic.
func TestShort(t *testing.T) {
	for number := range 200 {
		c := Converse(1, number, "short", Login{})
		b := c.Packets[len(c.Packets)-1]
		if topic := int(b[2])<<8 | int(b[3]); int(b[1]) >= 2+topic || len(b) < 4+topic {
			t.Errorf("conversation %d: a packet of %d bytes says %d, and has a topic of %d", number, len(b), b[1], topic)
		}
		if drawn := Converse(1, number, "", Login{}).Kind; (drawn == "short") != (number%8 == 7) {
			t.Errorf("conversation %d is of kind %s", number, drawn)
		}
	}
}
