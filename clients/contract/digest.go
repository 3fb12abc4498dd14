package contract

import (
	"fmt"
	"hash/crc32"
	"unsafe"
)

// A Digest reads a payload that comes in parts, and keeps only what identifies
// it. The zero value is ready; the first part of the next payload starts anew.
type Digest struct {
	head [HeaderLen]byte
	seen int
	crc  uint32
}

// Add takes the part that begins at byte at of a payload of size bytes.
func (d *Digest) Add(at, size int, part []byte) {
	if at == 0 {
		d.Reset()
	}
	if at < HeaderLen {
		copy(d.head[at:], part)
	}
	d.seen += len(part)
	if size < HeaderLen {
		d.sum(part)
		return
	}
	before := min(max(crcOffset-at, 0), len(part))
	after := min(max(HeaderLen-at, 0), len(part))
	d.sum(part[:before])
	d.sum(part[after:])
}

func (d *Digest) sum(b []byte) { d.crc = crc32.Update(d.crc, crc32.IEEETable, b) }

// Header is what [Parse] answers for the whole payload. Its texts are valid
// until the next Add.
func (d *Digest) Header() (Header, error) {
	if d.seen == 0 {
		return Header{}, ErrForeign
	}
	head := unsafe.String(&d.head[0], min(d.seen, HeaderLen)) // read at once, so that no packet allocates
	h, err := ParseHeader(head)
	switch {
	case err != nil:
		return Header{}, err
	case h.Len != d.seen:
		return Header{}, fmt.Errorf("payload of %d bytes, its header says %d", d.seen, h.Len)
	case h.CRC != d.crc:
		return Header{}, fmt.Errorf("checksum %08x, its header says %08x", d.crc, h.CRC)
	}
	return h, nil
}

// Reset forgets the payload.
func (d *Digest) Reset() { d.seen, d.crc = 0, 0 }
