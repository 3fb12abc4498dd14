package tap

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A broker may send any messages when a session is resumed. The first of QoS 1 among them
// comes before CONNACK, and all others behind it.
func TestPublishFirst(t *testing.T) {
	plant, err := FindPlant("publish-first")
	if err != nil {
		t.Fatal(err)
	}
	liar := NewLiar(plant, Options{})
	defer liar.Close()
	liar.meet("sub")
	node, fromNode := net.Pipe()
	toClient, client := net.Pipe()
	c := &planted{liar: liar, client: toClient, node: fromNode, of: "sub"}
	go c.pass(ToClient)
	message := func(qos byte) []byte {
		b := binary.BigEndian.AppendUint16(nil, 10)
		b = append(b, "x/load/t/1"...)
		if qos > 0 {
			b = binary.BigEndian.AppendUint16(b, 7)
		}
		b = append(b, "RQ1|"+strings.Repeat("0", 51)+"M"...)
		return append([]byte{3<<4 | qos<<1, byte(len(b))}, b...)
	}
	connack := []byte{2 << 4, 2, 1, 0}
	want := bytes.Join([][]byte{message(1), connack, message(0), message(2)}, nil)
	go node.Write(bytes.Join([][]byte{connack, message(0), message(2), message(1)}, nil))
	got := make([]byte, len(want))
	client.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := io.ReadFull(client, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the client got % x, %v; want % x", got, err, want)
	}
	if liar.Shown() != 1 {
		t.Errorf("it showed %d times", liar.Shown())
	}
	node.Close()
	client.Close()
}
