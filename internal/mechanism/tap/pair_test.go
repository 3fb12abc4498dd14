package tap

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A pair is a client and a node at the two ends of a tap.
type pair struct {
	t            *testing.T
	tap          *Tap
	client, node net.Conn
}

// newPair connects a client through the tap, greeted.
func newPair(t *testing.T, tap *Tap, at string, nodes <-chan net.Conn, id string) *pair {
	t.Helper()
	p := dial(t, tap, at, nodes, connectAs(id))
	p.node.Write(sample(Connack))
	p.gets(p.client, sample(Connack))
	return p
}

func dial(t *testing.T, tap *Tap, at string, nodes <-chan net.Conn, first []byte) *pair {
	t.Helper()
	client, err := net.Dial("tcp", at)
	if err != nil {
		t.Fatal(err)
	}
	p := &pair{t: t, tap: tap, client: client}
	client.Write(first)
	select {
	case p.node = <-nodes:
	case <-time.After(hosttest.Bound):
		t.Fatal("the tap did not connect to the node")
	}
	t.Cleanup(func() { client.Close(); p.node.Close() })
	p.gets(p.node, first)
	return p
}

// gets reads exactly these bytes.
func (p *pair) gets(from net.Conn, want []byte) {
	p.t.Helper()
	from.SetReadDeadline(time.Now().Add(hosttest.Bound))
	got := make([]byte, len(want))
	n, err := io.ReadFull(from, got)
	if err != nil || !bytes.Equal(got, want) {
		p.t.Fatalf("% x, %v; want % x", got[:n], err, want)
	}
}

// ends waits for the end of a connection.
func (p *pair) ends(conn net.Conn) {
	p.t.Helper()
	conn.SetReadDeadline(time.Now().Add(hosttest.Bound))
	if n, err := conn.Read(make([]byte, 1)); err == nil || isTimeout(err) {
		p.t.Fatalf("%d bytes, %v; want the end", n, err)
	}
}

func connectAs(id string) []byte {
	body := append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60, 0, byte(len(id))}, id...)
	return append([]byte{0x10, byte(len(body))}, body...)
}

func publishOf(id uint16, topic, payload string) []byte {
	body := append([]byte{0, byte(len(topic))}, topic...)
	body = append(binary.BigEndian.AppendUint16(body, id), payload...)
	return append(binary.AppendUvarint([]byte{0x32}, uint64(len(body))), body...)
}

func ackOf(kind Type, id uint16) []byte {
	return binary.BigEndian.AppendUint16([]byte{byte(kind) << 4, 2}, id)
}

// newTap is a tap before one node whose connections come out of the channel.
func newTap(t *testing.T) (*Tap, string, <-chan net.Conn) {
	t.Helper()
	node, nodes := newNode(t)
	tap := New(Options{})
	return tap, listening(t, tap, node), nodes
}

func listening(t *testing.T, tap *Tap, upstream string) string {
	t.Helper()
	at, err := tap.Listen("node-1", "127.0.0.1:0", upstream)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { tap.Close() })
	return at
}

func newNode(t *testing.T) (string, <-chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nodes := make(chan net.Conn, 2000)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			nodes <- c
		}
	}()
	t.Cleanup(func() { l.Close() })
	return l.Addr().String(), nodes
}

// drained takes out the connections of clients that were refused.
func drained(nodes <-chan net.Conn) <-chan net.Conn {
	for {
		select {
		case c := <-nodes:
			c.Close()
		case <-time.After(50 * time.Millisecond):
			return nodes
		}
	}
}

func await(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(hosttest.Bound); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("it does not happen")
		}
	}
}
