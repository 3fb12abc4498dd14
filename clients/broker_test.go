package clients_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// broker is the address of a broker that speaks a protocol: nats-server as a
// library for MQTT 3.1.1, mosquitto for 5.
func broker(t testing.TB, protocol string) string {
	t.Helper()
	if protocol == contract.MQTT3 {
		return natsBroker(t)
	}
	return mosquitto(t)
}

func natsBroker(t testing.TB) string {
	t.Helper()
	options := &server.Options{
		ServerName: "n1", Host: "127.0.0.1", Port: -1, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: t.TempDir(),
		// nats-server sends again when the acknowledgement is late, not when the
		// client is back.
		MQTT: server.MQTTOpts{Host: "127.0.0.1", Port: -1, AckWait: 2 * time.Second},
	}
	s, err := server.NewServer(options)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(hosttest.Bound) {
		t.Fatalf("nats-server is not ready after %v", hosttest.Bound)
	}
	return fmt.Sprintf("127.0.0.1:%d", options.MQTT.Port)
}

func mosquitto(t testing.TB) string {
	t.Helper()
	path := tool(t, "mosquitto")
	address := freeAddress(t)
	_, port, _ := net.SplitHostPort(address)
	config := filepath.Join(t.TempDir(), "mosquitto.conf")
	// Once a broker allows topic aliases, Paho's mqttv5 of Java stores messages
	// without their topics, and after a lost connection it is ended for ever.
	text := fmt.Sprintf("listener %s 127.0.0.1\nallow_anonymous true\nmax_queued_messages 0\nset_tcp_nodelay true\nmax_topic_alias 0\n", port)
	if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, "-c", config)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Kill()
		var ended *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &ended) || ended.String() != "signal: killed" {
			t.Errorf("mosquitto ended before its test: %v", err)
		}
	})
	answers(t, address)
	return address
}

// freeAddress is an address that no other test is given and no outgoing connection
// takes, as ports of the ephemeral range are taken.
func freeAddress(t testing.TB) string {
	t.Helper()
	network := cluster.NewLoopback("")
	t.Cleanup(func() { network.Close() })
	host, err := network.Host("broker")
	if err != nil {
		t.Fatal(err)
	}
	port, err := host.Port("mqtt", 0)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort(host.Address(), strconv.Itoa(port))
}

// answers waits until something listens.
func answers(t testing.TB, address string) {
	t.Helper()
	for deadline := time.Now().Add(hosttest.Bound); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if conn, err := net.Dial("tcp", address); err == nil {
			conn.Close()
			return
		}
	}
	t.Fatalf("nothing listens at %s after %v", address, hosttest.Bound)
}

// listener is where each connection is served, beside the others and for so long
// at the most, and then closed.
func listener(t testing.TB, bound time.Duration, serve func(net.Conn)) (address string) {
	t.Helper()
	return hosttest.Serve(t, func(conn net.Conn) {
		conn.SetDeadline(time.Now().Add(bound))
		serve(conn)
	})
}

// A proxy passes connections on until they are cut.
type proxy struct {
	address string
	mu      sync.Mutex
	open    map[net.Conn]bool
	gate    sync.RWMutex // held while nobody is let through
	garbage []byte       // a PUBLISH of a client that is none of its run
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	p := &proxy{open: map[net.Conn]bool{}}
	p.address = hosttest.Serve(t, func(a net.Conn) {
		b, err := p.through(a, target)
		if err != nil {
			return
		}
		go p.pass(b, a, io.Discard)
		read, seen := io.Pipe()
		defer seen.Close()
		go p.look(read)
		p.pass(a, b, seen)
	})
	return p
}

// through connects a client to the target, when it may.
func (p *proxy) through(client net.Conn, target string) (net.Conn, error) {
	p.gate.RLock()
	defer p.gate.RUnlock()
	conn, err := net.Dial("tcp", target)
	if err == nil {
		p.mu.Lock()
		p.open[client], p.open[conn] = true, true
		p.mu.Unlock()
	}
	return conn, err
}

// look reads the packets of a client, and keeps the first PUBLISH that is none of
// its run: one without its topics or without the header of its payloads.
func (p *proxy) look(r *io.PipeReader) {
	defer r.Close() // what is written to it from then on is dropped
	packets := bufio.NewReader(r)
	for {
		kind, body, err := readPacket(packets)
		if err != nil {
			return
		}
		if kind == publishPacket && (len(body) < 4 || !bytes.HasPrefix(body[2:], []byte("t/")) || !bytes.Contains(body, []byte("RQ1|testtest|"))) {
			p.mu.Lock()
			p.garbage = body
			p.mu.Unlock()
			return
		}
	}
}

// The types of packets that the brokers of these tests tell apart (MQTT 5.0, 2.1.2).
const (
	publishPacket   = 3
	pubrelPacket    = 6
	subscribePacket = 8
)

// readPacket reads one packet of a client, which a library may write in pieces:
// its type, and what follows its length.
func readPacket(r *bufio.Reader) (kind byte, body []byte, err error) {
	first, err := r.ReadByte()
	if err != nil {
		return 0, nil, err
	}
	size, err := binary.ReadUvarint(r) // as MQTT writes a length (MQTT 5.0, 1.5.5)
	if err != nil {
		return 0, nil, err
	}
	if size > 1<<20 {
		return 0, nil, fmt.Errorf("a packet of %d bytes", size)
	}
	body = make([]byte, size)
	_, err = io.ReadFull(r, body)
	return first >> 4, body, err
}

// garbled is a PUBLISH that is none of the client's run, nil as long as there was
// none.
func (p *proxy) garbled() []byte {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.garbage
}

func (p *proxy) pass(from, to net.Conn, seen io.Writer) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		seen.Write(buf[:n]) // before it is answered
		if _, failed := to.Write(buf[:n]); err != nil || failed != nil {
			break
		}
	}
	from.Close()
	to.Close()
	p.mu.Lock()
	delete(p.open, from)
	p.mu.Unlock()
}

// cut closes every connection.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for conn := range p.open {
		conn.Close()
	}
}

// cutOff closes every connection, and lets none through until letBack is called.
func (p *proxy) cutOff(t testing.TB) (letBack func()) {
	p.gate.Lock()
	letBack = sync.OnceFunc(p.gate.Unlock)
	t.Cleanup(letBack)
	p.cut()
	return letBack
}

// busy is a broker that answers the first SUBSCRIBE of a connection, behind so
// many messages and a retained one, all on one topic.
func busy(t testing.TB, protocol, topic string, messages int) string {
	t.Helper()
	connack, properties := []byte{0x20, 2, 0, 0}, []byte{}
	if protocol == contract.MQTT5 {
		connack, properties = []byte{0x20, 3, 0, 0, 0}, []byte{0}
	}
	publish := func(flags byte) []byte {
		body := slices.Concat([]byte{0, byte(len(topic))}, []byte(topic), properties, []byte("hello"))
		return append([]byte{0x30 | flags, byte(len(body))}, body...)
	}
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		conn.Write(connack)
		for {
			kind, body, err := readPacket(packets)
			if err != nil {
				return
			}
			if kind != subscribePacket {
				continue
			}
			suback := slices.Concat([]byte{0x90, byte(3 + len(properties))}, body[:2], properties, []byte{0})
			conn.Write(slices.Concat(bytes.Repeat(publish(0), messages), publish(1), suback))
		}
	})
}

// forgetful is a broker of MQTT 5 that had completed a message of QoS 2 when its first
// connection ended on PUBREL. To the next PUBREL it says that it knows no such packet
// (MQTT 5.0, 3.7.2.1).
func forgetful(t testing.TB) string {
	t.Helper()
	var connections atomic.Int32
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		present := byte(min(connections.Add(1)-1, 1))
		conn.Write([]byte{0x20, 3, present, 0, 0})
		for {
			kind, body, err := readPacket(packets)
			switch {
			case err != nil || kind == pubrelPacket && present == 0:
				return
			case kind == pubrelPacket:
				conn.Write([]byte{0x70, 3, body[0], body[1], 0x92})
			case kind == publishPacket:
				id := body[2+binary.BigEndian.Uint16(body):]
				conn.Write([]byte{0x50, 2, id[0], id[1]})
			}
		}
	})
}

// greeting is a CONNACK that lets a client in; present is 1 if it has a session.
func greeting(protocol string, present byte) []byte {
	if protocol == contract.MQTT5 {
		return []byte{0x20, 3, present, 0, 0}
	}
	return []byte{0x20, 2, present, 0}
}

// brusque is a broker that closes its first connection right after CONNACK.
func brusque(t testing.TB, protocol string) string {
	t.Helper()
	connack := greeting(protocol, 0)
	var connections atomic.Int32
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		conn.Write(connack)
		if connections.Add(1) > 1 {
			io.Copy(io.Discard, packets)
		}
	})
}

// garbling is a broker that sends a subscriber a topic with invalid UTF-8, and then a valid one.
func garbling(t testing.TB, protocol string) string {
	t.Helper()
	properties := []byte{}
	if protocol == contract.MQTT5 {
		properties = []byte{0}
	}
	publish := func(topic string) []byte {
		body := slices.Concat([]byte{0, byte(len(topic))}, []byte(topic), properties, []byte("foreign"))
		return slices.Concat([]byte{0x30, byte(len(body))}, body)
	}
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		conn.Write(slices.Concat([]byte{0x20, byte(2 + len(properties)), 0, 0}, properties))
		for {
			kind, body, err := readPacket(packets)
			if err != nil {
				return
			}
			if kind == subscribePacket {
				conn.Write(slices.Concat([]byte{0x90, byte(3 + len(properties))}, body[:2], properties, []byte{1}))
				conn.Write(slices.Concat(publish("t/\xff\xfe"), publish("t/one")))
			}
		}
	})
}

// losing is a broker that loses the session of its first connection, and ends the second
// one on SUBSCRIBE. From then on it keeps the session, which has no subscription but those
// that it is asked for then.
func losing(t testing.TB, protocol string) (address string, filters <-chan string) {
	t.Helper()
	asked := make(chan string, 100)
	var connections atomic.Int32
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		n, properties := connections.Add(1)-1, []byte{}
		if protocol == contract.MQTT5 {
			properties = []byte{0}
		}
		conn.Write(slices.Concat([]byte{0x20, byte(2 + len(properties)), byte(min(n/2, 1)), 0}, properties))
		for answered := 0; n != 0 || answered < 2; {
			kind, body, err := readPacket(packets)
			if err != nil || n == 1 && kind == subscribePacket {
				return
			}
			if kind != subscribePacket {
				continue
			}
			if n > 1 {
				filter := body[2:]
				if protocol == contract.MQTT5 {
					filter = filter[1+filter[0]:] // its properties
				}
				asked <- string(filter[2 : len(filter)-1])
			}
			conn.Write(slices.Concat([]byte{0x90, byte(3 + len(properties))}, body[:2], properties, []byte{1}))
			answered++
		}
		time.Sleep(100 * time.Millisecond) // until the client has read both SUBACKs
	}), asked
}

// mute is a broker that says yes to CONNECT and nothing ever after, and closes
// each connection once it has read a little.
func mute(t testing.TB, protocol string) string {
	t.Helper()
	connack := greeting(protocol, 1)
	return listener(t, 10*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		conn.Write(connack)
		for read := 0; read < 300; { // some PUBLISH
			_, body, err := readPacket(packets)
			if err != nil {
				return
			}
			read += len(body)
		}
	})
}
