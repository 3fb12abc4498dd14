package clients

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

type sink struct {
	n    int64
	last history.Event
}

func (s *sink) Record(e history.Event) int64 { s.n, s.last = s.n+1, e; return s.n - 1 }
func (s *sink) Tables() history.Tables {
	return history.Tables{Streams: []history.Stream{{Topic: "t/0"}, {Topic: "t/1"}, {Topic: "t/2"}, {Topic: "t/3"}}}
}

func translatorOf(run string) *translator {
	t := newTranslator(Options{Spec: contract.Spec{Run: run, Clients: []contract.Client{{Process: 0}}}, Recorder: &sink{}}, 0)
	t.greeted = true
	return t
}

func TestADeliverysHeaderIsJudged(t *testing.T) {
	line := func(h contract.Header, change func(l *contract.Line)) contract.Line {
		payload := h.Encode()
		l := contract.Line{Header: string(payload[:contract.HeaderLen]), CRC: fmt.Sprintf("%08x", contract.Checksum(payload)), Length: len(payload)}
		if change != nil {
			change(&l)
		}
		return l
	}
	h := contract.Header{Run: "run00001", Stream: 3, Seq: 42, QoS: 1, Kind: 'M', Len: 100}
	for _, test := range []struct {
		name   string
		run    string
		header contract.Header
		change func(*contract.Line)
		flags  history.Flags
		known  bool
	}{
		{"whole", "run00001", h, nil, 0, true},
		{"end marker", "run00001", contract.Header{Run: "run00001", Stream: 1, Kind: 'E', Len: 92}, nil, history.FlagEnd, true},
		{"other checksum", "run00001", h, func(l *contract.Line) { l.CRC = "00000000" }, history.FlagCorrupt, true},
		{"other checksum, and number", "run00001", h, func(l *contract.Line) { l.Header, l.CRC = strings.Replace(l.Header, "2a|", "2b|", 1), "00000000" }, history.FlagCorrupt, false},
		{"no checksum", "run00001", h, func(l *contract.Line) { l.CRC = "" }, history.FlagCorrupt, true},
		{"cut short", "run00001", h, func(l *contract.Line) { l.Length-- }, history.FlagCorrupt, true},
		{"damaged header", "run00001", h, func(l *contract.Line) { l.Header = l.Header[:20] + "x" + l.Header[21:] }, history.FlagCorrupt, false},
		{"other run", "run00002", h, nil, history.FlagForeign, false},
		{"unknown stream", "run00001", contract.Header{Run: "run00001", Stream: 4, Kind: 'M'}, nil, history.FlagForeign, false},
		{"no header", "run00001", h, func(l *contract.Line) { l.Header = "hello" }, history.FlagForeign, false},
	} {
		l := line(test.header, test.change)
		e := history.Event{Stream: history.None, Seq: history.None}
		translatorOf(test.run).identify(&l, &e)
		if e.Flags != test.flags || (e.Stream != history.None) != test.known {
			t.Errorf("%s: %+v", test.name, e)
		}
	}
}

func TestADeliverysTopicIsJudged(t *testing.T) {
	payload := (&contract.Header{Run: "run00001", Stream: 3, Seq: 42, QoS: 1, Kind: 'M', Len: 100}).Encode()
	line := contract.Line{Edge: "point", TimeNS: 1, Kind: "deliver", QoS: 1, Header: string(payload[:contract.HeaderLen]),
		CRC: fmt.Sprintf("%08x", contract.Checksum(payload)), Length: len(payload)}
	for _, test := range []struct {
		name, protocol, topic string
		damaged               bool
		flags                 history.Flags
		text                  string
		refused               bool
	}{
		{name: "its stream's", topic: "t/3"},
		{name: "another", topic: "t/2", flags: history.FlagRenamed, text: "t/2"},
		{name: "longer", topic: "t/3/", flags: history.FlagRenamed, text: "t/3/"},
		{name: "none", refused: true},
		{name: "a wildcard, which a fault of ours makes", topic: "t/#"},
		{name: "of a damaged message", topic: "t/2", damaged: true, flags: history.FlagCorrupt},
		{name: "none, of mq9", protocol: contract.MQ9},
		{name: "another, of mq9, whose fetch says it", protocol: contract.MQ9, topic: "t/2"},
	} {
		t.Run(test.name, func(t *testing.T) {
			out := &sink{}
			tr := newTranslator(Options{Spec: contract.Spec{Run: "run00001", Clients: []contract.Client{{Process: 0, Protocol: test.protocol}}}, Recorder: out}, 0)
			tr.greeted = true
			l := line
			if l.Text = test.topic; test.damaged {
				l.CRC = "00000000"
			}
			err := tr.line(&l, 10)
			if (err != nil) != test.refused {
				t.Fatalf("error %v", err)
			}
			if test.refused {
				return
			}
			if e := out.last; e.Flags != test.flags || !test.damaged && e.Text != test.text {
				t.Errorf("flags %b, text %q", e.Flags, e.Text)
			}
		})
	}
}

// BenchmarkTranslate is how fast lines become events: publish calls and their
// returns, and deliveries.
func BenchmarkTranslate(b *testing.B) {
	header := contract.Header{Run: "run00001", Seq: 42, QoS: 1, Kind: contract.KindMessage, Len: 100}
	payload := header.Encode()
	deliver := (&contract.Line{Edge: "point", TimeNS: 1, Kind: "deliver", QoS: 1, ID: new(int64(9)), Header: string(payload[:contract.HeaderLen]),
		CRC: fmt.Sprintf("%08x", contract.Checksum(payload)), Length: len(payload), Text: "t/0"}).AppendJSON(nil)
	t := translatorOf(header.Run)
	t.procs[0].streams[0] = &stream{Stream: contract.Stream{QoS: 1}}
	var call, ret []byte
	var l contract.Line
	seq := int64(0)
	for b.Loop() {
		call = (&contract.Line{Edge: "call", TimeNS: 1, Kind: "publish", Call: seq + 1, Stream: new(int32(0)), Seq: &seq, QoS: 1}).AppendJSON(call[:0])
		ret = (&contract.Line{Edge: "return", TimeNS: 2, Kind: "publish", Call: seq + 1, Outcome: "ok", ID: new(seq % 65536)}).AppendJSON(ret[:0])
		for _, data := range [][]byte{call, ret, deliver} {
			if err := contract.ParseLine(data, &l); err != nil {
				b.Fatal(err)
			}
			if err := t.line(&l, 10); err != nil {
				b.Fatal(err)
			}
		}
		seq++
	}
	b.ReportMetric(3*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

// A broker or an SDK may say a password in an error, by its name or by itself.
func TestNoSecretInADriversWords(t *testing.T) {
	s := &sink{}
	tr := newTranslator(Options{Spec: contract.Spec{Clients: []contract.Client{{Process: 0, Password: "o1dpa55"}}}, Recorder: s}, 0)
	tr.greeted = true
	for _, lines := range []string{
		`{"e":"call","t":1,"p":0,"k":"connect","c":1,"a":"x:1"} {"e":"return","t":2,"p":0,"k":"connect","c":1,"o":"fail","x":"refused: password=hunter2"}`,
		`{"e":"call","t":1,"p":0,"k":"connect","c":2,"a":"x:1"} {"e":"return","t":2,"p":0,"k":"connect","c":2,"o":"fail","x":"refused \"o1dpa55\": password=hunter2"}`,
		`{"e":"point","t":3,"p":0,"k":"disconnect","x":"reason string: token: hunter2"}`,
		`{"e":"point","t":3,"p":0,"k":"deliver","q":1,"i":9,"h":"password=hunter2","crc":"00000000","len":16,"x":"t/0"}`,
	} {
		for line := range strings.SplitSeq(lines, " {\"e\"") {
			if !strings.HasPrefix(line, "{") {
				line = `{"e"` + line
			}
			var l contract.Line
			if err := contract.ParseLine([]byte(line), &l); err != nil {
				t.Fatal(err)
			}
			if err := tr.line(&l, 10); err != nil {
				t.Fatal(err)
			}
		}
		if text := s.last.Text; strings.Contains(text, "hunter2") || strings.Contains(text, "o1dpa55") || !strings.Contains(text, "[scrubbed]") {
			t.Errorf("recorded of %s: %q", lines, text)
		}
	}
}

// Times by the clock of another machine are the host's within a bound, and do not decrease.
func TestHost(t *testing.T) {
	tr := translatorOf("testtest")
	tr.started = 1000
	ahead := time.Duration(500)
	tr.ahead = func() (time.Duration, time.Duration) { return ahead, 10 }
	for _, test := range []struct {
		ahead    time.Duration
		at, want int64 // 0: refused
	}{
		{500, 1495, 995}, {500, 1480, 0}, {500, 1700, 1200}, {510, 1705, 1200}, {510, 1900, 1390},
		{500, 2505, 2000}, {510, 2504, 2000}, {500, 2600, 0}, {500, 2400, 2000},
	} {
		ahead = test.ahead
		if test.at == 1480 {
			tr.last = 0
		}
		got, err := tr.host(test.at, 2000)
		if got != test.want || (err == nil) != (test.want > 0) {
			t.Errorf("%d, ahead by %d: %d, %v; want %d", test.at, test.ahead, got, err, test.want)
		}
	}
}
