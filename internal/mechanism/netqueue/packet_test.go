package netqueue

import (
	"encoding/binary"
	"testing"
)

// sample is a packet of TCP or UDP with correct checksums.
func sample(protocol byte, payload []byte) packet {
	size := map[byte]int{protocolTCP: 20, protocolUDP: 8}[protocol]
	p := make(packet, 20+size, 20+size+len(payload))
	p = append(p, payload...)
	p[0], p[9] = 0x45, protocol
	binary.BigEndian.PutUint16(p[2:], uint16(len(p)))
	copy(p[12:], []byte{198, 18, 1, 2, 198, 18, 2, 2})
	binary.BigEndian.PutUint16(p[20:], 1883)
	binary.BigEndian.PutUint16(p[22:], 40000)
	at := 20 + udpChecksum
	if protocol == protocolTCP {
		p[32] = 5 << 4
		at = 20 + tcpChecksum
	} else {
		binary.BigEndian.PutUint16(p[24:], uint16(len(p)-20))
	}
	binary.BigEndian.PutUint16(p[at:], ^sum(p))
	return p
}

// sum is the one's complement sum over pseudo header, header and payload, RFC
// 793 3.1: all ones where the checksum is right.
func sum(p packet) uint16 {
	words := append(packet(nil), p[12:20]...)
	words = append(words, 0, p[9])
	words = binary.BigEndian.AppendUint16(words, uint16(len(p)-20))
	words = append(words, p[20:]...)
	if len(words)%2 == 1 {
		words = append(words, 0)
	}
	var s uint32
	for i := 0; i < len(words); i += 2 {
		s += uint32(binary.BigEndian.Uint16(words[i:]))
	}
	for s>>16 != 0 {
		s = s&0xffff + s>>16
	}
	return uint16(s)
}

func TestCorrupted(t *testing.T) {
	for _, protocol := range []byte{protocolTCP, protocolUDP} {
		for length := 1; length < 20; length++ {
			p := sample(protocol, []byte("some payload, 19 byte")[:length])
			if sum(p) != 0xffff {
				t.Fatalf("the test's own packet has a wrong checksum")
			}
			for random := range uint64(8 * length) {
				for _, mend := range []bool{false, true} {
					out, ok := p.corrupted(random, mend)
					if !ok || string(out[len(p)-length:]) == string(p[len(p)-length:]) {
						t.Fatalf("protocol %d, %d bytes: not corrupted", protocol, length)
					}
					if right := sum(out) == 0xffff; right != mend {
						t.Fatalf("protocol %d, %d bytes, random %d: checksum right is %t, mended is %t", protocol, length, random, right, mend)
					}
				}
			}
		}
	}
}

func TestNothingToCorrupt(t *testing.T) {
	fragment := sample(protocolUDP, []byte("later part"))
	fragment[7] = 1
	for name, p := range map[string]packet{
		"no payload": sample(protocolTCP, nil), "cut short": sample(protocolTCP, []byte("all of it"))[:45],
		"fragment": fragment, "empty": nil, "IPv6": append(packet{0x60}, make(packet, 60)...),
	} {
		if _, ok := p.corrupted(0, true); ok {
			t.Errorf("%s: corrupted", name)
		}
	}
}

func TestPorts(t *testing.T) {
	p := sample(protocolUDP, []byte("x"))
	if !p.is(1883) || !p.is(40000) || p.is(862) || packet(nil).is(0) {
		t.Error("ports are read wrongly")
	}
}
