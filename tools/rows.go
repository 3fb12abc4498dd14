package tools

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// HistoryView are recorded rows around one message or one row.
type HistoryView struct {
	Rows    []Row  `json:"rows"`
	Matched int    `json:"matched"`          // rows that are the message or the index asked for
	Stream  string `json:"stream,omitempty"` // producer, topic and QoS of the message's stream
	Note    string `json:"note,omitempty"`   // what was left out
}

// A Row is one event, its numbers replaced by names.
type Row struct {
	Index   int64   `json:"index"`
	AtS     float64 `json:"at_s"`
	Kind    string  `json:"kind"`
	Edge    string  `json:"edge"`
	Call    int64   `json:"call,omitempty"` // on a return: the index of its call
	Outcome string  `json:"outcome,omitempty"`
	Process string  `json:"process,omitempty"`
	Node    string  `json:"node,omitempty"`
	Message string  `json:"message,omitempty"` // stream/seq
	QoS     uint8   `json:"qos,omitempty"`
	Reason  uint8   `json:"reason,omitempty"`
	Flags   string  `json:"flags,omitempty"`
	Text    string  `json:"text,omitempty"`
	Match   bool    `json:"match,omitempty"`
}

// maxRows of an answer, whatever was asked for.
const maxRows = 200

// A spot is what the history is read around.
type spot struct {
	index  int64 // or None
	stream int32
	seq    int64
}

func parseSpot(at string) (spot, error) {
	stream, seq, both := strings.Cut(at, "/")
	if both {
		s, err1 := strconv.ParseInt(stream, 10, 32)
		n, err2 := strconv.ParseInt(seq, 10, 64)
		if err1 == nil && err2 == nil && s >= 0 && n >= 0 {
			return spot{history.None, int32(s), n}, nil
		}
	} else if i, err := strconv.ParseInt(at, 10, 64); err == nil && i >= 0 {
		return spot{i, history.None, history.None}, nil
	}
	return spot{}, fmt.Errorf("get_run: \"at\" is %q, expected stream/seq such as \"3/120\" or the index of a row such as \"4711\"; get_run with view anomalies names both", at)
}

func (s spot) is(b *history.Batch, i int) bool {
	if s.index != history.None {
		return b.Index[i] == s.index || b.Call[i] == s.index
	}
	return b.Stream[i] == s.stream && b.Seq[i] == s.seq
}

// around reads the rows about a spot: its own ones, wherever they are, and n
// before and after each. A return belongs to its call.
func around(dir, at string, n int) (*HistoryView, error) {
	s, err := parseSpot(at)
	if err != nil {
		return nil, err
	}
	view := &HistoryView{}
	var before []history.Event
	var calls = map[int64]bool{}
	var events []history.Event
	matched := map[int64]bool{}
	follow, left := 0, 0
	tables, err := eachBatch(dir, func(b *history.Batch) bool {
		for i := range b.N {
			isMatch := s.is(b, i) || calls[b.Call[i]] && b.Call[i] != history.None
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
				left++
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
		row.Match = matched[e.Index]
		view.Rows = append(view.Rows, row)
	}
	if s.stream != history.None {
		view.Stream = streamName(tables, s.stream)
	}
	if left > 0 {
		view.Note = fmt.Sprintf("%d more matching rows were left out; ask for fewer rows around each, or read around one index", left)
	}
	return view, nil
}

func rowOf(e history.Event, t *history.Tables) Row {
	row := Row{Index: e.Index, AtS: float64(e.Time.Round(10*time.Microsecond)) / float64(time.Second), Kind: e.Kind.String(), Edge: e.Edge.String(), QoS: e.QoS, Reason: e.Reason, Text: shorten(e.Text, 300)}
	if e.Edge == history.Return {
		row.Call, row.Outcome = e.Call, e.Outcome.String()
	}
	if e.Flags != 0 {
		row.Flags = e.Flags.String()
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
