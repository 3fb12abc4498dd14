package contract

import "testing"

// A payload in parts reads as the whole one, however it is cut; damage shows.
func TestDigest(t *testing.T) {
	h := Header{Run: "run00001", Process: 7, Stream: 3, Seq: 42, QoS: 1, Kind: KindMessage, Len: 300}
	var d Digest
	for _, size := range []int{92, 93, 300} {
		h.Len = size
		payload := h.Encode()
		for cut := range size {
			for damage := range 2 {
				b := append([]byte(nil), payload...)
				if damage == 1 {
					b[cut] ^= 1
				}
				d.Add(0, size, b[:cut])
				if cut > 0 {
					d.Add(cut, size, b[cut:])
				} else {
					d.Add(0, size, b)
				}
				got, err := d.Header()
				want, wantErr := Parse(b)
				if got != want || (err == nil) != (wantErr == nil) {
					t.Fatalf("%d bytes cut at %d: %+v %v, want %+v %v", size, cut, got, err, want, wantErr)
				}
			}
		}
	}
	d.Reset()
	if _, err := d.Header(); err != ErrForeign {
		t.Error(err)
	}
	payload := h.Encode()
	if n := testing.AllocsPerRun(100, func() {
		d.Add(0, len(payload), payload)
		if _, err := d.Header(); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
