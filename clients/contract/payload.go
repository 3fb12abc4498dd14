package contract

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
)

// HeaderLen is the length of a payload's header, in bytes. CONTRACT.md draws
// it; every field has a fixed width, so that any language can cut it.
const HeaderLen = 92

// crcOffset is the position of the checksum in the header. The checksum covers the
// bytes before it, and the padding after the header.
const crcOffset = 83

// RunLen is the length of a run's name in the header.
const RunLen = 8

const magic = "RQ1|"

// Kinds of message.
const (
	KindMessage   = 'M'
	KindEndMarker = 'E'
)

// A Header is the identity that every payload begins with.
type Header struct {
	Run         string // eight characters
	Process     int32  // the producer
	Incarnation uint16 // of the producer's driver
	Stream      int32
	Seq         int64
	QoS         uint8
	Kind        byte  // KindMessage, KindEndMarker
	T           int64 // nanoseconds of the producer's clock when it was made
	Len         int   // bytes of payload
	CRC         uint32
}

// End reports whether the message is its stream's end marker.
func (h *Header) End() bool { return h.Kind == KindEndMarker }

// maxDamaged is how long a payload may be, in bytes, of which a header says that it
// is intact: a damaged length would cost memory.
const maxDamaged = 16 << 20

// Intact reports whether a header is as it was written, even if the payload behind
// it is damaged. Its checksum must be that of the payload it describes, which Intact
// makes anew.
func (h *Header) Intact() bool {
	return h.Len >= HeaderLen && h.Len <= maxDamaged && h.CRC == Checksum(h.Encode())
}

// Encode makes the payload that h identifies: h.Len bytes, at least HeaderLen.
// Fields that do not fit their width, and h.CRC, are computed or cut: callers
// hand in what the contract allows.
func (h *Header) Encode() []byte {
	size := max(h.Len, HeaderLen)
	b := make([]byte, 0, size)
	b = append(b, magic...)
	b = append(append(b, h.Run...), "        "...)[:len(magic)+RunLen]
	b = appendHex(append(b, '|'), uint64(uint32(h.Process)), 8)
	b = appendHex(append(b, '|'), uint64(h.Incarnation), 4)
	b = appendHex(append(b, '|'), uint64(uint32(h.Stream)), 8)
	b = appendHex(append(b, '|'), uint64(h.Seq), 16)
	b = append(b, '|', '0'+h.QoS%10, '|', h.Kind)
	b = appendHex(append(b, '|'), uint64(h.T), 16)
	b = appendHex(append(b, '|'), uint64(size), 8)
	b = append(b, '|')
	b = b[:size]
	pad(b[HeaderLen:], uint64(h.Stream)+uint64(h.Seq))
	copy(b[crcOffset:], appendHex(make([]byte, 0, 9), uint64(Checksum(b)), 8))
	b[HeaderLen-1] = '|'
	return b
}

// Checksum is the CRC-32 (IEEE) of a payload without its own checksum field
// and the bar behind it. A payload shorter than a header is taken whole.
func Checksum(payload []byte) uint32 {
	if len(payload) < HeaderLen {
		return crc32.ChecksumIEEE(payload)
	}
	return crc32.Update(crc32.ChecksumIEEE(payload[:crcOffset]), crc32.IEEETable, payload[HeaderLen:])
}

// ErrForeign is the error of a payload that carries no header of ours.
var ErrForeign = errors.New("no RQ1 header")

// ParseHeader reads the first HeaderLen bytes of a payload. It is ErrForeign
// for what does not begin like a header, another error for what does and is
// damaged. It does not compare the checksum, for which it would need the rest.
func ParseHeader(s string) (Header, error) {
	if len(s) < len(magic) || s[:len(magic)] != magic {
		return Header{}, ErrForeign
	}
	if len(s) < HeaderLen {
		return Header{}, fmt.Errorf("header of %d bytes, want %d", len(s), HeaderLen)
	}
	f := fields{s: s, at: len(magic)}
	h := Header{Run: f.text(RunLen)}
	h.Process = int32(f.hex(8))
	h.Incarnation = uint16(f.hex(4))
	h.Stream = int32(f.hex(8))
	h.Seq = int64(f.hex(16))
	h.QoS = f.text(1)[0] - '0'
	h.Kind = f.text(1)[0]
	h.T = int64(f.hex(16))
	h.Len = int(f.hex(8))
	h.CRC = uint32(f.hex(8))
	switch {
	case f.bad:
		return Header{}, fmt.Errorf("damaged header %q", s[:HeaderLen])
	case h.QoS > 2 || h.Kind != KindMessage && h.Kind != KindEndMarker || h.Seq < 0 || h.Stream < 0 || h.Process < 0:
		return Header{}, fmt.Errorf("impossible header %q", s[:HeaderLen])
	}
	return h, nil
}

// Parse reads a whole payload and compares its length and checksum.
func Parse(payload []byte) (Header, error) {
	h, err := ParseHeader(string(payload[:min(len(payload), HeaderLen)]))
	switch {
	case err != nil:
		return Header{}, err
	case h.Len != len(payload):
		return Header{}, fmt.Errorf("payload of %d bytes, its header says %d", len(payload), h.Len)
	case h.CRC != Checksum(payload):
		return Header{}, fmt.Errorf("checksum %08x, its header says %08x", Checksum(payload), h.CRC)
	}
	return h, nil
}

// fields cuts a header: each call takes one field and the bar behind it.
type fields struct {
	s   string
	at  int
	bad bool
}

func (f *fields) text(width int) string {
	v := f.s[f.at : f.at+width]
	f.at += width + 1
	f.bad = f.bad || f.s[f.at-1] != '|'
	return v
}

func (f *fields) hex(width int) uint64 {
	var n uint64
	for _, c := range []byte(f.text(width)) {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			f.bad = true
		}
	}
	return n
}

// appendHex appends n in lower case, width digits.
func appendHex(b []byte, n uint64, width int) []byte {
	const digits = "0123456789abcdef"
	for shift := 4 * (width - 1); shift >= 0; shift -= 4 {
		b = append(b, digits[n>>shift&15])
	}
	return b
}

// pad fills b with letters that follow from the message's identity, so that a
// payload with another message's tail does not look right.
func pad(b []byte, from uint64) {
	for i := range b {
		b[i] = 'a' + byte((from+uint64(i))%26)
	}
}

// Renamed reports whether a message came under another topic than that of its
// stream. One with a wildcard is a fault of ours: no topic name may have one
// [MQTT-3.3.2-2].
func Renamed[T string | []byte](topic T, its string) bool {
	return string(topic) != its && !strings.ContainsAny(string(topic), "#+")
}
