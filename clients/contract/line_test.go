package contract

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func ptr[T any](v T) *T { return &v }

func lines() []Line {
	return []Line{
		{Edge: "hello", TimeNS: 5, Contract: 1, SDK: "paho", Version: "1.5.1", Clock: "monotonic", Cannot: []string{"dup", "packet_id"}, Dedupes: true},
		{Edge: "call", TimeNS: 123456789012345, Kind: "connect", Process: 3, Call: 1, Endpoint: "127.0.0.1:1883"},
		{Edge: "return", TimeNS: 123456789012399, Kind: "connect", Process: 3, Call: 1, Outcome: "ok", SessionPresent: true},
		{Edge: "call", TimeNS: 123456789012400, Kind: "publish", Process: 3, Call: 2, Stream: ptr(int32(0)), Seq: ptr(int64(0)), QoS: 1, End: true},
		{Edge: "return", TimeNS: 1, Kind: "publish", Process: 3, Call: 2, Outcome: "fail", Reason: 135, ID: ptr(int64(0)), Text: `not "authorized"` + "\n"},
		{Edge: "point", TimeNS: -1, Kind: "deliver", Process: 4, QoS: 2, ID: ptr(int64(7)), Dup: true, Retain: true, Header: goldenPayload[:HeaderLen], CRC: "13e24850", Length: 100},
		{Edge: "point", TimeNS: 2, Kind: "deliver", Header: "\u00ff\u0000<é>"},
		{Edge: "bye", TimeNS: 1 << 60, Lines: 12345},
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
		` { "e" : "call" , "t":1, "future":{"a":[1]}, "p":2 } `: {Edge: "call", TimeNS: 1, Process: 2},
		`{"e":"p\u006fint"}`:        {Edge: "point"},
		`{"t":9223372036854775807}`: {TimeNS: 1<<63 - 1},
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
