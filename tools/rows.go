package tools

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// HistoryView are recorded rows of one message or around one row.
type HistoryView struct {
	Rows    []Row  `json:"rows"`
	Matched int    `json:"matched"`          // rows that are the message or the index asked for, or that its violations point to
	Stream  string `json:"stream,omitempty"` // producer, topic and QoS of the message's stream
	Note    string `json:"note,omitempty"`   // what was left out
}

// A Row is one event, its numbers replaced by names.
type Row struct {
	Index    int64   `json:"index"`
	AtS      float64 `json:"at_s"`
	Kind     string  `json:"kind"`
	Edge     string  `json:"edge,omitempty"` // call or return; none is a moment
	Call     int64   `json:"call,omitempty"` // on a return: the index of its call
	Outcome  string  `json:"outcome,omitempty"`
	Process  string  `json:"process,omitempty"`
	Node     string  `json:"node,omitempty"`
	Message  string  `json:"message,omitempty"` // stream/seq, of another message than the one asked for
	PacketID int64   `json:"packet_id,omitempty"`
	QoS      uint8   `json:"qos,omitempty"`
	Dup      bool    `json:"dup,omitempty"`
	Reason   uint8   `json:"reason,omitempty"`
	Flags    string  `json:"flags,omitempty"` // the others
	Text     string  `json:"text,omitempty"`
	Beside   bool    `json:"beside,omitempty"` // it does not match
}

// A spot is what the history is read around.
type spot struct {
	index   int64 // or None
	stream  int32
	seq     int64
	process string // of a message: its publishes, and what this client saw of it; "" is all clients
}

func parseSpot(at string) (spot, error) {
	message, process, _ := strings.Cut(at, "@")
	stream, seq, both := strings.Cut(message, "/")
	if both {
		s, err1 := strconv.ParseInt(stream, 10, 32)
		n, err2 := strconv.ParseInt(seq, 10, 64)
		if err1 == nil && err2 == nil && s >= 0 && n >= 0 {
			return spot{history.None, int32(s), n, process}, nil
		}
	} else if i, err := strconv.ParseInt(at, 10, 64); err == nil && i >= 0 {
		return spot{index: i, stream: history.None, seq: history.None}, nil
	}
	return spot{}, fmt.Errorf("get_run: \"at\" is %q, expected stream/seq such as \"3/120\", with a client \"3/120@online-1\", or the index of a row such as \"4711\"; get_run with view anomalies names them", at)
}

// is reports whether a row is of the spot, if of is the client that it asks for and
// producer the message's publisher.
func (s spot) is(b *history.Batch, i int, of, producer int32) bool {
	if s.index != history.None {
		return b.Index[i] == s.index || b.Call[i] == s.index
	}
	theirs := s.process == "" || b.Process[i] == of || b.Process[i] == producer
	return b.Stream[i] == s.stream && b.Seq[i] == s.seq && theirs
}

// pointed are the rows that violations of the spot's message point to. They may be those
// of the message that overtook it.
func (s spot) pointed(v *verdict.Verdict, of int32) map[int64]bool {
	rows := map[int64]bool{}
	if v == nil || s.stream == history.None {
		return rows
	}
	for _, r := range v.Results {
		for _, x := range r.Anomalies {
			if x.Stream == s.stream && x.Seq == s.seq && (s.process == "" || x.Process == of) {
				for _, row := range x.Events {
					rows[row] = true
				}
			}
		}
	}
	return rows
}

// around reads the rows of a spot, wherever they are, and n before and after each. A
// return belongs to its call.
func around(dir, at string, n int) (*HistoryView, error) {
	s, err := parseSpot(at)
	if err != nil {
		return nil, err
	}
	tables, _, err := reports.Dir(dir).Tables()
	if err != nil {
		return nil, err
	}
	of, producer, err := s.clients(tables)
	if err != nil {
		return nil, err
	}
	v, err := reports.Dir(dir).Verdict()
	if err != nil {
		return nil, err
	}
	pointed := s.pointed(v, of)
	view := &HistoryView{}
	var before, events []history.Event
	calls, matched := map[int64]bool{}, map[int64]bool{}
	follow := 0
	_, err = reports.Dir(dir).EachBatch(func(b *history.Batch) bool {
		for i := range b.N {
			isMatch := s.is(b, i, of, producer) || pointed[b.Index[i]] || calls[b.Call[i]] && b.Call[i] != history.None
			if isMatch {
				view.Matched++
				if b.Edge[i] == history.Call {
					calls[b.Index[i]] = true
				}
			}
			switch {
			case isMatch && len(events)+len(before) < maxRows:
				matched[b.Index[i]] = true
				events = append(append(events, before...), b.Event(i))
				before, follow = nil, n
			case isMatch:
			case follow > 0 && len(events) < maxRows:
				events = append(events, b.Event(i))
				follow--
			case n > 0:
				if len(before) == n {
					before = before[1:]
				}
				before = append(before, b.Event(i))
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if view.Matched == 0 {
		return nil, fmt.Errorf("get_run: no row of run %s is %s; get_run with view anomalies or timeline shows where to look", runID(dir), at)
	}
	for _, e := range events {
		row := rowOf(e, tables)
		row.Beside = !matched[e.Index]
		if e.Stream == s.stream && e.Seq == s.seq {
			row.Message = ""
		}
		view.Rows = append(view.Rows, row)
	}
	if all := view.Rows; len(fitting(all, answerBytes)) < len(all) { // its own rows come first
		view.Rows = fitting(slices.DeleteFunc(all, func(r Row) bool { return r.Beside }), answerBytes)
		view.Note = "there was no room for rows that do not match; read around one index"
	}
	shown := 0
	for _, r := range view.Rows {
		if !r.Beside {
			shown++
		}
	}
	if s.stream != history.None {
		view.Stream = streamName(tables, s.stream)
	}
	if left := view.Matched - shown; left > 0 {
		view.Note = fmt.Sprintf("%d more matching rows were left out; name a client, %d/%d@online-1, ask for fewer rows beside each, or read around one index", left, max(s.stream, 0), max(s.seq, 0))
	}
	return view, nil
}

// maxRows are read for an answer, which has room for fewer.
const maxRows = 200

// clients are the one that a spot names and the publisher of its message.
func (s spot) clients(t *history.Tables) (of, producer int32, err error) {
	of, producer = history.None, history.None
	if s.process == "" {
		return of, producer, nil
	}
	if int(s.stream) < len(t.Streams) {
		producer = t.Streams[s.stream].Producer
	}
	named := slices.IndexFunc(t.Processes, func(p history.Process) bool { return p.Name == s.process })
	if named < 0 {
		return of, producer, fmt.Errorf("get_run: no client %q in this run; leave out what follows the @ to see all of them", s.process)
	}
	return int32(named), producer, nil
}

func rowOf(e history.Event, t *history.Tables) Row {
	row := Row{Index: e.Index, AtS: float64(e.Time.Round(10*time.Microsecond)) / float64(time.Second), Kind: e.Kind.String(), QoS: e.QoS, Reason: e.Reason,
		Dup: e.Flags.Has(history.FlagDup), Text: plain.CutBytes(e.Text, 300)}
	if e.Edge == history.Call || e.Edge == history.Return {
		row.Edge = e.Edge.String()
	}
	if e.Edge == history.Return {
		row.Call, row.Outcome = e.Call, e.Outcome.String()
	}
	if e.Kind == history.KindTold && row.Text == "" {
		row.Text = "the library told the application that it is done"
	}
	row.Flags = (e.Flags &^ history.FlagDup).String()
	if e.ID > 0 {
		row.PacketID = e.ID
	}
	if e.Process >= 0 && int(e.Process) < len(t.Processes) {
		row.Process = t.Processes[e.Process].Name
	}
	if e.Node >= 0 && int(e.Node) < len(t.Nodes) {
		row.Node = t.Nodes[e.Node].Name
	}
	if e.Stream >= 0 && e.Seq >= 0 {
		row.Message = fmt.Sprintf("%d/%d", e.Stream, e.Seq)
	}
	return row
}

func streamName(t *history.Tables, stream int32) string {
	if int(stream) >= len(t.Streams) {
		return ""
	}
	s := t.Streams[stream]
	producer := "producer"
	if s.Producer >= 0 && int(s.Producer) < len(t.Processes) {
		producer = t.Processes[s.Producer].Name
	}
	return fmt.Sprintf("%s on %s, QoS %d", producer, s.Topic, s.QoS)
}
