package stored

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// Packed ends the name of a file that is packed by zstd. [Open] unpacks it where only the
// packed one is there.
const Packed = ".zst"

// MostUnpacked is how many bytes a packed file may have. A few bytes of a stranger's could
// fill a disk.
const MostUnpacked = 2 << 30

// mostWindow is how much memory a packed file may ask for, in bytes.
const mostWindow = 64 << 20

// Unpacked is the name of a file without [Packed], and whether that was there.
func Unpacked(name string) (string, bool) { return strings.CutSuffix(name, Packed) }

// Pack packs what it reads. The same content is the same bytes. It returns nil where that is
// more than most bytes.
func Pack(content io.Reader, most int) ([]byte, error) {
	b := bounded{most: most}
	w, err := zstd.NewWriter(&b, zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(w, content)
	err = errors.Join(err, w.Close())
	if errors.Is(err, errFull) {
		return nil, nil
	}
	return b.bytes, err
}

// errFull says that a buffer has no room.
var errFull = errors.New("the buffer is full")

// A bounded buffer takes so many bytes at most.
type bounded struct {
	bytes []byte
	most  int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.bytes)+len(p) > b.most {
		return 0, errFull
	}
	b.bytes = append(b.bytes, p...)
	return len(p), nil
}

// unpacking reads a packed file.
func unpacking(packed *os.File) (*zstd.Decoder, error) {
	r, err := zstd.NewReader(packed, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(mostWindow))
	if err != nil {
		return nil, fmt.Errorf("unpack %s: %w", packed.Name(), err)
	}
	return r, nil
}

// unpack reads a packed file into one that has no name any more.
func unpack(packed *os.File) (f *os.File, err error) {
	defer packed.Close()
	r, err := unpacking(packed)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	if f, err = os.CreateTemp("", "rmq-mcp-unpacked-*"); err != nil {
		return nil, fmt.Errorf("unpack %s: %w", packed.Name(), err)
	}
	os.Remove(f.Name()) // what is open stays; a system that minds keeps a file among its temporary ones
	n, err := io.Copy(f, io.LimitReader(r, MostUnpacked+1))
	if err == nil && n > MostUnpacked {
		err = fmt.Errorf("it has more than %d bytes", int64(MostUnpacked))
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("unpack %s: %w", packed.Name(), err), f.Close())
	}
	return f, nil
}
