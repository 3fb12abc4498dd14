package contract

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// golden is the vector of CONTRACT.md.
var golden = Header{Run: "run00001", Process: 7, Incarnation: 1, Stream: 3, Seq: 42, QoS: 1, Kind: 'M', T: 123456789, Len: 100}

const goldenPayload = "RQ1|run00001|00000007|0001|00000003|000000000000002a|1|M|00000000075bcd15|00000064|13e24850|tuvwxyza"

func TestEncodeIsTheContract(t *testing.T) {
	got := string(golden.Encode())
	if got != goldenPayload {
		t.Errorf("payload\n%s\nwant\n%s", got, goldenPayload)
	}
	if got[HeaderLen-1] != '|' || got[crcOffset-1] != '|' {
		t.Errorf("header is not %d bytes with its checksum at %d", HeaderLen, crcOffset)
	}
}

func TestParseReadsWhatEncodeWrote(t *testing.T) {
	for name, h := range map[string]Header{
		"golden":     golden,
		"end marker": {Run: "abcdefgh", Kind: 'E', Len: HeaderLen},
		"largest":    {Run: "zzzzzzzz", Process: 1<<31 - 1, Incarnation: 1<<16 - 1, Stream: 1<<31 - 1, Seq: 1<<63 - 1, QoS: 2, Kind: 'M', T: 1<<63 - 1, Len: 4096},
	} {
		payload := h.Encode()
		got, err := Parse(payload)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		h.CRC = Checksum(payload)
		if diff := cmp.Diff(h, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAPayloadIsAtLeastItsHeader(t *testing.T) {
	h := Header{Run: "run00001", Kind: 'M', Len: 10}
	payload := h.Encode()
	got, err := Parse(payload)
	if err != nil || got.Len != HeaderLen || len(payload) != HeaderLen {
		t.Errorf("%d bytes, %+v, %v", len(payload), got, err)
	}
}

func TestEveryFlippedBitIsSeen(t *testing.T) {
	payload := golden.Encode()
	for i := range payload {
		for bit := range 8 {
			damaged := bytes.Clone(payload)
			damaged[i] ^= 1 << bit
			if h, err := Parse(damaged); err == nil {
				t.Errorf("byte %d bit %d: parsed as %+v", i, bit, h)
			}
		}
	}
	for n := range payload {
		if _, err := Parse(payload[:n]); err == nil {
			t.Errorf("cut to %d bytes: parsed", n)
		}
	}
}

func TestForeignPayloads(t *testing.T) {
	for _, s := range []string{"", "RQ1", "hello", strings.Repeat("x", 200)} {
		if _, err := Parse([]byte(s)); !errors.Is(err, ErrForeign) {
			t.Errorf("%q: %v, want ErrForeign", s, err)
		}
	}
	if _, err := Parse([]byte("RQ1|run00001|")); err == nil || errors.Is(err, ErrForeign) {
		t.Errorf("cut header: %v, want damage", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(goldenPayload), 0, byte(1))
	f.Fuzz(func(t *testing.T, data []byte, at int, flip byte) {
		h, err := Parse(data)
		if err == nil && (h.Len != len(data) || h.CRC != Checksum(data)) {
			t.Fatalf("accepted %q as %+v", data, h)
		}
		payload := golden.Encode()
		if at < 0 || at >= len(payload) || flip == 0 {
			return
		}
		payload[at] ^= flip
		if _, err := Parse(payload); err == nil {
			t.Fatalf("accepted %q", payload)
		}
	})
}

func BenchmarkEncode(b *testing.B) {
	h := golden
	h.Len = 256
	for b.Loop() {
		h.Seq++
		h.Encode()
	}
}

func TestTheContractHasTheGoldenPayload(t *testing.T) {
	text, err := os.ReadFile("../CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n"+goldenPayload+"\n") {
		t.Errorf("CONTRACT.md does not show %s", goldenPayload)
	}
}
