package netqueue

import (
	"encoding/binary"
	"maps"
	"net/netip"
	"sync"
)

// A packet is one of IPv4, from its header on. It may be cut short.
type packet []byte

const (
	protocolTCP = 6
	protocolUDP = 17
)

// Where a transport's checksum is in its header.
const (
	tcpChecksum = 16
	udpChecksum = 6
)

// ends counts packets by the address at either end.
type ends struct {
	mu sync.Mutex
	n  map[netip.Addr]uint64
}

func (e *ends) add(p packet) {
	if len(p) < 20 || p[0]>>4 != 4 {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.n == nil {
		e.n = map[netip.Addr]uint64{}
	}
	e.n[netip.AddrFrom4([4]byte(p[12:16]))]++
	e.n[netip.AddrFrom4([4]byte(p[16:20]))]++
}

func (e *ends) all() map[netip.Addr]uint64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.n)
}

// transport is the protocol and where its header begins; ok is false for what
// has none, a later fragment too.
func (p packet) transport() (protocol byte, at int, ok bool) {
	if len(p) < 20 || p[0]>>4 != 4 {
		return 0, 0, false
	}
	at = int(p[0]&0xf) * 4
	fragment := binary.BigEndian.Uint16(p[6:]) & 0x1fff
	ok = fragment == 0 && (p[9] == protocolTCP || p[9] == protocolUDP) && len(p) >= at+8
	return p[9], at, ok
}

// is reports whether a packet is of a port, on either side.
func (p packet) is(port uint16) bool {
	_, at, ok := p.transport()
	return ok && (binary.BigEndian.Uint16(p[at:]) == port || binary.BigEndian.Uint16(p[at+2:]) == port)
}

// payload is where the payload of TCP or UDP begins, and where the checksum of
// its header is; ok is false where there is none.
func (p packet) payload() (at, checksum int, ok bool) {
	protocol, header, ok := p.transport()
	if !ok || int(binary.BigEndian.Uint16(p[2:])) != len(p) {
		return 0, 0, false
	}
	at, checksum = header+8, header+udpChecksum
	if protocol == protocolTCP {
		if len(p) < header+20 {
			return 0, 0, false
		}
		at, checksum = header+int(p[header+12]>>4)*4, header+tcpChecksum
	}
	return at, checksum, at < len(p)
}

// corrupted returns a copy with one bit of the payload flipped. The random number
// chooses the byte and the bit. With mend the checksum is right for the copy, so that
// only the application can notice. ok is false for a packet without payload.
func (p packet) corrupted(random uint64, mend bool) (out packet, ok bool) {
	from, checksum, ok := p.payload()
	if !ok {
		return nil, false
	}
	at := from + int(random>>3%uint64(len(p)-from))
	out = append(packet(nil), p...)
	out[at] ^= 1 << (random & 7)
	if mend {
		out.mend(checksum, (at-from+headerLen(p, from))&1, p[at], out[at])
	}
	return out, true
}

// headerLen is the length of the transport's header.
func headerLen(p packet, payload int) int { return payload - int(p[0]&0xf)*4 }

// mend corrects a checksum for one byte that changed, RFC 1624 3. The byte is the low one of its 16 bits
// where odd is 1. A UDP checksum of 0 says that there is none.
func (p packet) mend(checksum, odd int, was, is byte) {
	old := binary.BigEndian.Uint16(p[checksum:])
	udp := p[9] == protocolUDP
	if udp && old == 0 {
		return
	}
	shift := 8 * (1 - odd)
	sum := uint32(^old) + uint32(^(uint16(was) << shift)) + uint32(uint16(is)<<shift)
	sum = sum&0xffff + sum>>16
	sum = sum&0xffff + sum>>16
	now := ^uint16(sum)
	if udp && now == 0 {
		now = 0xffff
	}
	binary.BigEndian.PutUint16(p[checksum:], now)
}

// destination is an address as bytes.
func (p packet) destination() (a [4]byte) {
	copy(a[:], p[16:20])
	return a
}
