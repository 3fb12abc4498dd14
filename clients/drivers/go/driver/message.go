package driver

import (
	"fmt"
	"unicode/utf8"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// A Message is one that arrived.
type Message struct {
	Payload []byte
	Topic   string
	QoS     byte
	Dup     bool
	Retain  bool
	ID      int64 // packet id, or msg_id; 0 for none
}

// describe fills in what a line says of a message that arrived.
func (m *Message) describe(l *contract.Line) {
	l.QoS, l.Dup, l.Retain, l.Length = m.QoS, m.Dup, m.Retain, len(m.Payload)
	l.Header = latin1(m.Payload[:min(len(m.Payload), contract.HeaderLen)])
	l.CRC = fmt.Sprintf("%08x", contract.Checksum(m.Payload))
	if m.ID != 0 {
		id := m.ID
		l.ID = &id
	}
}

// latin1 writes each byte as the character of that number.
func latin1(b []byte) string {
	for _, c := range b {
		if c >= utf8.RuneSelf {
			r := make([]rune, len(b))
			for i, c := range b {
				r[i] = rune(c)
			}
			return string(r)
		}
	}
	return string(b)
}
