package history

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// errCut says that the stream stops inside a message, or between two without
// the marker that ends it.
var errCut = errors.New("cut")

// continuation begins every message of an Arrow stream. Its length follows;
// the length 0 is the end of the stream.
const continuation = 0xFFFFFFFF

// prefixSize is the continuation and the length.
const prefixSize = 8

// maxMetadata bounds what a rubbish length can make us allocate. Ours are
// below 4 kB.
const maxMetadata = 1 << 20

// messages reads an Arrow stream message by message, into one buffer that is
// used again. It is an [ipc.MessageReader] that knows how the stream ended,
// and never trusts a length further than the file reaches.
type messages struct {
	file io.Reader
	size int64 // of the file
	pos  int64 // end of the last whole message
	meta []byte
	body []byte
	back bool  // the message that was read last is to be returned again
	end  error // io.EOF in order, errCut, or what is wrong; nil so far
}

func (m *messages) Retain()  {}
func (m *messages) Release() {}

// Message returns the next whole message, which is valid until the next call. After the
// last one it returns io.EOF, however the stream ended.
func (m *messages) Message() (*ipc.Message, error) {
	if m.back {
		m.back = false
		return ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(m.body)), nil
	}
	if m.end != nil {
		return nil, io.EOF
	}
	msg, err := m.next()
	if err == nil {
		return msg, nil
	}
	m.end = err
	if err == io.EOF || err == errCut {
		return nil, io.EOF
	}
	return nil, err
}

func (m *messages) next() (msg *ipc.Message, err error) {
	// Arrow panics where metadata are not what they should be.
	defer func() {
		if p := recover(); p != nil {
			msg, err = nil, fmt.Errorf("at byte %d: %v", m.pos, p)
		}
	}()
	size, err := m.prefix()
	if err != nil {
		return nil, err
	}
	if m.meta, err = m.read(m.meta, prefixSize, size); err != nil {
		return nil, err
	}
	bodySize := ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(nil)).BodyLen()
	if bodySize < 0 {
		return nil, fmt.Errorf("at byte %d: a body of %d bytes", m.pos, bodySize)
	}
	if m.body, err = m.read(m.body, prefixSize+size, bodySize); err != nil {
		return nil, err
	}
	m.pos += prefixSize + size + bodySize
	return ipc.NewMessage(memory.NewBufferBytes(m.meta), memory.NewBufferBytes(m.body)), nil
}

// prefix reads the prefix of a message and returns the size of its metadata.
func (m *messages) prefix() (int64, error) {
	prefix, err := m.read(nil, 0, prefixSize)
	if err != nil {
		return 0, err
	}
	if binary.LittleEndian.Uint32(prefix) != continuation {
		return 0, fmt.Errorf("at byte %d: no message begins here", m.pos)
	}
	switch size := int64(binary.LittleEndian.Uint32(prefix[4:])); {
	case size == 0 && m.pos+prefixSize == m.size:
		return 0, io.EOF
	case size == 0:
		return 0, fmt.Errorf("at byte %d: %d bytes follow the end of the stream", m.pos, m.size-m.pos-prefixSize)
	case size < 4 || size > maxMetadata:
		return 0, fmt.Errorf("at byte %d: a message with %d bytes of metadata", m.pos, size)
	default:
		return size, nil
	}
}

// read reads n bytes into buf, which it grows, if the file has them. They are
// at m.pos+skip.
func (m *messages) read(buf []byte, skip, n int64) ([]byte, error) {
	if m.size-m.pos-skip < n {
		return buf, errCut
	}
	buf = slices.Grow(buf[:0], int(n))[:n]
	_, err := io.ReadFull(m.file, buf)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = errCut // it became shorter since
	}
	return buf, err
}
