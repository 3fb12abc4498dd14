package tap

import (
	"crypto/sha256"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// Bytes that no rule hits arrive as they were sent, however they are cut into writes,
// both ways at once, while rules come and go beside them.
func TestStreamIsIntact(t *testing.T) {
	tap, at, nodes := newTap(t)
	p := newPair(t, tap, at, nodes, "c")
	deadline := time.Now().Add(hosttest.Bound)
	p.client.SetDeadline(deadline)
	p.node.SetDeadline(deadline)
	stop := make(chan struct{})
	var rules sync.WaitGroup
	rules.Go(func() {
		for on := true; ; on = !on {
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
			if on {
				tap.Set([]Rule{{Fault: "f1", Do: Drop, Clients: []string{"other"}}, {Fault: "f2", Do: Delay, Packet: Pingreq, DelayMS: 1}})
			} else {
				tap.Set(nil)
			}
		}
	})
	var both sync.WaitGroup
	for i, ends := range [][2]net.Conn{{p.client, p.node}, {p.node, p.client}} {
		text := traffic(rand.New(rand.NewPCG(uint64(i), 1)))
		both.Go(func() { cutUp(ends[0], text, rand.New(rand.NewPCG(uint64(i), 2))) })
		both.Go(func() {
			got := sha256.New()
			if n, err := io.CopyN(got, ends[1], int64(len(text))); err != nil {
				t.Errorf("direction %d: %d of %d bytes: %v", i, n, len(text), err)
			} else if want := sha256.Sum256(text); string(got.Sum(nil)) != string(want[:]) {
				t.Errorf("direction %d: other bytes arrived than were sent", i)
			}
		})
	}
	both.Wait()
	close(stop)
	rules.Wait()
}

// traffic is packets of all types that a session has, of many sizes.
func traffic(dice *rand.Rand) (out []byte) {
	for range 20_000 {
		id := uint16(dice.IntN(65535) + 1)
		switch dice.IntN(5) {
		case 0:
			out = append(out, ackOf(Puback, id)...)
		case 1:
			out = append(out, ackOf(Pubrec, id)...)
		case 2:
			out = append(out, sample(Pingreq)...)
		case 3:
			out = append(out, publishOf(id, "a/topic", strings.Repeat("x", dice.IntN(300)))...)
		case 4:
			if dice.IntN(100) == 0 {
				out = append(out, publishOf(id, strings.Repeat("t", 200), strings.Repeat("x", dice.IntN(200_000)))...)
			}
		}
	}
	return out
}

func cutUp(to net.Conn, text []byte, dice *rand.Rand) {
	for len(text) > 0 {
		n := min(len(text), 1+dice.IntN(1<<(1+dice.IntN(16))))
		if _, err := to.Write(text[:n]); err != nil {
			return
		}
		text = text[n:]
	}
}
