package hostile

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/mochi-mqtt/server/v2/packets"

	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
)

// An Answer is how a broker took a conversation.
type Answer string

// The answers.
const (
	Refused   Answer = "refused"   // it ended the connection, or said no
	Tolerated Answer = "tolerated" // it answers PINGREQ afterwards
	Deaf      Answer = "deaf"      // it answered at first, and then neither, in the time that it had
	Silent    Answer = "silent"    // not a word
	Unheard   Answer = "unheard"   // the node refused the connection
	Unreached Answer = "unreached" // the node did not answer to the connection
	Unsaid    Answer = "unsaid"    // this host had no file or port for a connection
)

// firstAnswer is how long the rest of a conversation waits for the broker's
// first packet, which where it comes is CONNACK.
const firstAnswer = 300 * time.Millisecond

// Hold says a conversation on a connection, and how the broker took it. It
// closes the connection, and takes no longer than the bound.
func (c Conversation) Hold(ctx context.Context, conn net.Conn, bound time.Duration) Answer {
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(bound))
	defer context.AfterFunc(ctx, func() { conn.SetDeadline(time.Now()) })()
	heard, answer := make(chan struct{}, 1), make(chan Answer, 1)
	go func() { answer <- c.listen(conn, heard) }()
	for i, p := range c.Packets {
		if _, err := conn.Write(p); err != nil {
			return <-answer
		}
		if i == 0 && len(c.Packets) > 1 {
			select {
			case <-heard:
			case <-time.After(firstAnswer):
			}
		}
	}
	if half, ok := conn.(interface{ CloseWrite() error }); ok && c.Cut {
		half.CloseWrite()
	} else {
		conn.Write(pingreq())
	}
	return <-answer
}

func pingreq() []byte { return []byte{packets.Pingreq << 4, 0} }

// listen reads until the broker has answered. It skips bytes that are no packet.
func (c Conversation) listen(conn net.Conn, heard chan<- struct{}) Answer {
	r := bufio.NewReader(conn)
	open := 1 // answers to PINGREQ, the last of which is to ours
	for _, p := range c.Packets {
		if bytes.Equal(p, pingreq()) {
			open++
		}
	}
	for late := Silent; ; late = Deaf {
		pk, err := mqttpacket.Read(r, c.Level)
		if errors.Is(err, mqttpacket.ErrMalformed) {
			_, err = io.Copy(io.Discard, r)
			err = errors.Join(err, io.EOF)
		}
		select {
		case heard <- struct{}{}:
		default:
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			return late
		case err != nil, pk.FixedHeader.Type == packets.Disconnect, pk.FixedHeader.Type == packets.Connack && pk.ReasonCode != 0:
			return Refused
		case pk.FixedHeader.Type == packets.Pingresp && !c.Cut:
			if open--; open == 0 {
				return Tolerated
			}
		}
	}
}
