package clients_test

import (
	"bufio"
	"net"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A repeater is a broker that keeps the one session of its one client: it greets
// it and sends it the packets of the connection of that number, all at once. It
// ends a connection after its packets where another is to follow.
func repeater(t *testing.T, protocol string, connections ...[]byte) string {
	t.Helper()
	connack := greeting(protocol, 1)
	var number atomic.Int32
	return listener(t, 20*time.Second, func(conn net.Conn) {
		packets := bufio.NewReader(conn)
		if _, _, err := readPacket(packets); err != nil { // CONNECT
			return
		}
		n := int(number.Add(1)) - 1
		if n >= len(connections) {
			return
		}
		conn.Write(slices.Concat(connack, connections[n]))
		for n == len(connections)-1 {
			if _, _, err := readPacket(packets); err != nil {
				return
			}
		}
	})
}

// repeated are a PUBLISH of QoS 2, the same with DUP, and one of QoS 0, by whose
// delivery it is known that the others arrived.
func repeated(protocol string) (first, second, last []byte) {
	packet := func(flags byte, id ...byte) []byte {
		body := append([]byte{0, 1, 't'}, id...)
		if protocol == contract.MQTT5 {
			body = append(body, 0) // no properties
		}
		body = append(body, "hello"...)
		return append([]byte{0x30 | flags, byte(len(body))}, body...)
	}
	return packet(0x4, 0, 7), packet(0xc, 0, 7), packet(0)
}

// arrivals is how often the message of QoS 2 is delivered by the time that the
// one of QoS 0 is. An SDK may hold it until a PUBREL, which never comes.
func arrivals(t *testing.T, program clients.Program, c contract.Client) int {
	t.Helper()
	of := func(qos uint8) func(history.Event) bool {
		return and(is(0, history.KindDeliver, history.Point), func(e history.Event) bool { return e.QoS == qos })
	}
	r := start(t, program, 0, c)
	r.do(t, "connect", 0)
	r.wait(t, "the last message", 1, of(0))
	return r.count(of(2))
}

// tried are the SDKs of which it is known whether the catalogue is right.
func tried(sdk clients.SDK) bool {
	return slices.Contains([]string{"paho.mqtt.golang", "paho.golang", "paho-mqtt", "amqtt"}, sdk.Package)
}

// Dedupes is about a message that the broker sends again when the client is back.
// A broker may send it again only then [MQTT-4.4.0-1].
func TestTheSameMessageOnTheNextConnection(t *testing.T) {
	everyDriverThat(t, tried, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		first, second, last := repeated(protocol)
		c := client(0, protocol, repeater(t, protocol, first, slices.Concat(second, last)))
		c.DelayMS = 300 // the connection ends while the application still has the message
		if n := arrivals(t, program, c); n > 1 && sdk.Dedupes {
			t.Errorf("delivered %d times", n)
		}
	})
}

// Dedupes says nothing about a broker that repeats itself on one connection.
func TestTheSameMessageAtOnce(t *testing.T) {
	dedupes := func(sdk clients.SDK) bool { return tried(sdk) && sdk.Dedupes }
	everyDriverThat(t, dedupes, func(t *testing.T, sdk clients.SDK, program clients.Program, protocol string) {
		first, second, last := repeated(protocol)
		c := client(0, protocol, repeater(t, protocol, slices.Concat(first, second, last)))
		c.DelayMS = 100 // the copy arrives while the application still has the message
		n := arrivals(t, program, c)
		if copies := slices.Contains(sdk.Cannot, contract.CannotDedupeAtOnce); copies != (n > 1) {
			t.Errorf("delivered %d times, and it is said to pass on copies: %v", n, copies)
		}
	})
}
