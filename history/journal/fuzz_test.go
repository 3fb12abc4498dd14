package journal

import (
	"bytes"
	"testing"
)

// FuzzChain checks that a chain takes the sound beginning of any bytes and says where
// it ends.
func FuzzChain(f *testing.F) {
	line, err := encode(Entry{Kind: KindNote, Data: []byte(`{"a":"\u001b"}`)})
	if err != nil {
		f.Fatal(err)
	}
	next, err := encode(Entry{N: 1, Kind: KindEnd, Data: []byte(`null`), Prev: sum(line)})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(bytes.Join([][]byte{line, next}, nil))
	f.Add(append(bytes.Clone(line), next[:20]...))
	f.Add([]byte("{}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := readChain(bytes.NewReader(text))
		if c.size > int64(len(text)) || err == nil && c.size+c.torn != int64(len(text)) {
			t.Fatalf("%d bytes are sound and %d torn, of %d: %v", c.size, c.torn, len(text), err)
		}
		again, err := readChain(bytes.NewReader(text[:c.size]))
		if err != nil || again.head != c.head || len(again.entries) != len(c.entries) {
			t.Fatalf("what is sound of it is read as %d entries, was %d: %v", len(again.entries), len(c.entries), err)
		}
	})
}
