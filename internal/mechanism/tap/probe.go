package tap

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// Fates of a packet on its way through the tap, as its receiver sees them.
const (
	Arrives      = "it arrives"
	NeverArrives = "it never arrives"
	Twice        = "it arrives twice, then with DUP"
	ThenCut      = "it arrives, then the connection ends"
	HalfThenCut  = "half of it arrives, then the connection ends"
	Altered      = "it arrives altered"
)

// exchangeBound is how long an exchange waits for a packet; one that is later
// was delayed by at least so much.
const exchangeBound = 2 * time.Second

// noFault is what a probe is about that no rule hits.
const noFault = "none"

// An Outcome is what became of a probe's packet, and after how long it was
// there.
type Outcome struct {
	What string // one of those above
	Took time.Duration
}

// Exchange is a probe: a client and a node of our own speak through the tap,
// and one packet of the type goes between them, with another behind it. On
// this connection alone the fault's rule hits that packet, whatever clients,
// topics and counts it is about, and does not count it. Without a fault no
// rule does.
func (t *Tap) Exchange(ctx context.Context, fault string, kind Type, way Direction) (Outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, exchangeBound)
	defer cancel()
	if kind == Any {
		kind = Publish
	}
	if only, ok := kind.onlyGoes(); ok {
		way = only
	} else if way == "" {
		way = ToBroker
	}
	e := &exchange{kind: kind, way: way}
	defer e.close()
	if err := e.open(ctx, t, fault); err != nil {
		return Outcome{}, fmt.Errorf("open a connection through the tap: %w", err)
	}
	out, err := e.send()
	if err != nil {
		return Outcome{}, fmt.Errorf("send %s %s through the tap: %w", kind, way, err)
	}
	return out, nil
}

// An exchange has both ends of a connection through the tap.
type exchange struct {
	kind         Type
	way          Direction
	client, node net.Conn
	through      *conn
}

func (e *exchange) open(ctx context.Context, t *Tap, fault string) error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer l.Close()
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	d := net.Dialer{}
	if e.client, err = d.DialContext(ctx, "tcp", l.Addr().String()); err != nil {
		return err
	}
	inside, err := l.Accept()
	if err != nil {
		return err
	}
	e.through = newConn(t, "", l.Addr().String(), inside)
	e.through.probe, e.through.heading = cmp.Or(fault, noFault), e.way
	if e.kind == Connect || e.kind == Connack {
		e.through.aim.Store(int32(e.kind))
	}
	t.tasks.Go(func() { e.through.run(dialHere) })
	if _, err := e.client.Write(sample(Connect)); err != nil {
		return err
	}
	if e.node, err = l.Accept(); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	e.client.SetDeadline(deadline)
	e.node.SetDeadline(deadline)
	if e.kind == Connect {
		return nil
	}
	return e.greet()
}

// greet waits until the far end has the CONNECT, and answers it.
func (e *exchange) greet() error {
	if err := expect(e.node, sample(Connect)); err != nil || e.kind == Connack {
		return err
	}
	if _, err := e.node.Write(sample(Connack)); err != nil {
		return err
	}
	if err := expect(e.client, sample(Connack)); err != nil {
		return err
	}
	e.through.aim.Store(int32(e.kind))
	return nil
}

// send sends the packet and one behind it, and sees what arrives.
func (e *exchange) send() (Outcome, error) {
	from, to, last := e.client, e.node, e.last()
	if e.way == ToClient {
		from, to = e.node, e.client
	}
	began, packet := time.Now(), sample(e.kind)
	if e.kind != Connect { // which is on its way
		if _, err := from.Write(packet); err != nil {
			return Outcome{}, err
		}
	}
	// The connection may be cut already; that is for the receiver to see.
	_, _ = from.Write(last)
	var got []byte
	b := make([]byte, 1024)
	for {
		n, err := to.Read(b)
		got = append(got, b[:n]...)
		if err == nil && !bytes.HasSuffix(got, last) {
			continue
		}
		out := Outcome{What: NeverArrives, Took: time.Since(began)}
		if len(got) > 0 || !isTimeout(err) {
			out.What = judge(got, packet, last, err != nil && !isTimeout(err))
		}
		return out, nil
	}
}

// last is what is sent behind the packet. Once it is there, so is all that was
// sent before.
func (e *exchange) last() []byte {
	ping := Pingreq
	if e.way == ToClient {
		ping = Pingresp
	}
	if e.kind == ping {
		return sample(Puback)
	}
	return sample(ping)
}

func judge(got, packet, last []byte, ended bool) string {
	again := bytes.Clone(packet)
	again[0] |= 8
	switch {
	case bytes.Equal(got, packet) && ended:
		return ThenCut
	case len(got) < len(packet) && len(got) > 0 && bytes.HasPrefix(packet, got) && ended:
		return HalfThenCut
	case bytes.Equal(got, bytes.Join([][]byte{packet, last}, nil)):
		return Arrives
	case bytes.Equal(got, bytes.Join([][]byte{packet, again, last}, nil)):
		return Twice
	case bytes.Equal(got, last):
		return NeverArrives
	case ended:
		return fmt.Sprintf("the connection ends after %d bytes", len(got))
	}
	return Altered
}

func (e *exchange) close() {
	for _, end := range []net.Conn{e.client, e.node} {
		if end != nil {
			end.Close()
		}
	}
	if e.through != nil {
		e.through.abort()
	}
}

func expect(from net.Conn, want []byte) error {
	got := make([]byte, len(want))
	if _, err := io.ReadFull(from, got); err != nil {
		return err
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("% x arrived, not % x", got, want)
	}
	return nil
}

func isTimeout(err error) bool {
	var t net.Error
	return errors.As(err, &t) && t.Timeout()
}

// sampleID is the packet id of every probe.
const sampleID = 4711

// sample is a valid packet of a type.
func sample(kind Type) []byte {
	id := binary.BigEndian.AppendUint16(nil, sampleID)
	filter := append([]byte{0, 5}, "probe"...)
	var flags byte
	var body []byte
	switch kind {
	case Connect:
		body = append([]byte{0, 4, 'M', 'Q', 'T', 'T', 4, 2, 0, 60}, filter...)
	case Connack:
		body = []byte{0, 0}
	case Publish:
		flags, body = 2, append(append(filter, id...), "payload"...)
	case Pubrel:
		flags, body = 2, id
	case Subscribe:
		flags, body = 2, append(append(id, filter...), 1)
	case Suback:
		body = append(id, 1)
	case Unsubscribe:
		flags, body = 2, append(id, filter...)
	case Puback, Pubrec, Pubcomp, Unsuback:
		body = id
	}
	return append([]byte{byte(kind)<<4 | flags, byte(len(body))}, body...)
}
