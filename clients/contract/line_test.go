package contract

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func lines() []Line {
	return []Line{
		{E: "hello", T: 5, Contract: 1, SDK: "paho", Version: "1.5.1", Clock: "monotonic", Cannot: []string{"dup", "packet_id"}, Dedupes: true},
		{E: "call", T: 123456789012345, K: "connect", P: 3, C: 1, A: "127.0.0.1:1883"},
		{E: "return", T: 123456789012399, K: "connect", P: 3, C: 1, O: "ok", SP: true},
		{E: "call", T: 123456789012400, K: "publish", P: 3, C: 2, S: ptr(int32(0)), N: ptr(int64(0)), Q: 1, End: true},
		{E: "return", T: 1, K: "publish", P: 3, C: 2, O: "fail", R: 135, I: ptr(int64(0)), X: `not "authorized"` + "\n"},
		{E: "point", T: -1, K: "deliver", P: 4, Q: 2, I: ptr(int64(7)), Dup: true, Ret: true, H: goldenPayload[:HeaderLen], Crc: "13e24850", Len: 100},
		{E: "point", T: 2, K: "deliver", H: "\u00ff\u0000<é>"},
		{E: "bye", T: 1 << 60, Lines: 12345},
	}
}

func TestLinesAreTheirJSON(t *testing.T) {
	for _, want := range lines() {
		data := want.AppendJSON(nil)
		var got, std Line
		if err := json.Unmarshal(data, &std); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, std); diff != "" {
			t.Errorf("encoding/json reads %s: %s", data, diff)
		}
		if err := ParseLine(data, &got); err != nil {
			t.Errorf("%s: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseLine reads %s: %s", data, diff)
		}
	}
}

func TestUnusualLines(t *testing.T) {
	for in, want := range map[string]Line{
		` { "e" : "call" , "t":1, "future":{"a":[1]}, "p":2 } `: {E: "call", T: 1, P: 2},
		`{"e":"p\u006fint"}`:        {E: "point"},
		`{"t":9223372036854775807}`: {T: 1<<63 - 1},
		`{"e":null,"s":null}`:       {},
	} {
		var got Line
		if err := ParseLine([]byte(in), &got); err != nil {
			t.Errorf("%s: %v", in, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", in, diff)
		}
	}
}

func TestRubbishIsRefused(t *testing.T) {
	for _, in := range []string{``, `hello`, `{`, `{"e":}`, `{"e":"a"}x`, `{"q":256}`, `{"t":1.5}`, `{"p":99999999999}`, `[]`, `{"t":01}`, "{\"e\":\"a\x00\"}"} {
		var l Line
		if err := ParseLine([]byte(in), &l); err == nil {
			t.Errorf("%q is %+v", in, l)
		}
	}
}

func FuzzParseLine(f *testing.F) {
	for _, l := range lines() {
		f.Add(l.AppendJSON(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var got, want Line
		err := ParseLine(data, &got)
		wantErr := json.Unmarshal(data, &want)
		if (err == nil) != (wantErr == nil) {
			t.Fatalf("%q: %v, encoding/json: %v", data, err, wantErr)
		}
		if diff := cmp.Diff(want, got); err == nil && diff != "" {
			t.Fatalf("%q: %s", data, diff)
		}
	})
}

func BenchmarkAppendJSON(b *testing.B) {
	l, buf := lines()[3], []byte(nil)
	for b.Loop() {
		buf = l.AppendJSON(buf[:0])
	}
}

func BenchmarkParseLine(b *testing.B) {
	data := lines()[5].AppendJSON(nil)
	var l Line
	for b.Loop() {
		if err := ParseLine(data, &l); err != nil {
			b.Fatal(err)
		}
	}
}
