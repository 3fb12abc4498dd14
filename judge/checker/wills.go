package checker

import (
	"github.com/robustmq/rmq-mcp/history"
)

// wills are the messages that clients left with the broker: one for each CONNECT
// of a client that has a stream of them.
type wills struct {
	tables *history.Tables
	of     map[int32]int32 // streams, by process
	all    []bequest
}

// A bequest is the will of one connection.
type bequest struct {
	process, stream  int32
	seq              int64
	call, ret, leave int64 // rows: of CONNECT, of its return, of the connection's end; None where there is none
	called           int64 // time of CONNECT
	ended            int64 // time at which the client had noticed the end
	accepted         bool  // CONNACK let the client in
	left             bool  // the client had sent DISCONNECT
	doubt            bool  // which end is whose is not known
}

func newWills(t *history.Tables) *wills {
	w := &wills{tables: t, of: map[int32]int32{}}
	for i, s := range t.Streams {
		if s.Will {
			w.of[s.Producer] = int32(i)
		}
	}
	return w
}

func (w *wills) add(b *history.Batch, control []int32, s *sends) {
	if len(w.of) == 0 {
		return
	}
	for _, i := range control {
		i := int(i)
		stream, ok := w.of[b.Process[i]]
		if !ok {
			continue
		}
		switch k := b.Kind[i]; {
		case k == history.KindConnect && b.Edge[i] == history.Call && b.Stream[i] == stream && b.Seq[i] >= 0:
			w.all = append(w.all, bequest{process: b.Process[i], stream: stream, seq: b.Seq[i], call: b.Index[i], called: b.Time[i], ret: history.None, leave: history.None})
			if !s.streams[stream].call(b, i, b.Seq[i]) {
				s.mistake("stream of wills", stream, b.Seq[i])
			}
		case k == history.KindConnect && b.Edge[i] == history.Return:
			w.accept(b, i)
		case k == history.KindDisconnect, k == history.KindObserve && b.Text(i) == history.ObserveDriverLines: // the latter is the end of its driver
			if q := w.open(b.Process[i]); q != nil {
				q.leave, q.ended, q.left = b.Index[i], b.Time[i], k == history.KindDisconnect && b.Outcome[i] == history.OK
			}
		}
	}
}

// accept takes the return of a CONNECT. Where an earlier connection's end is not
// written down yet, it cannot be told from this one's.
func (w *wills) accept(b *history.Batch, i int) {
	before := w.open(b.Process[i])
	for at := len(w.all) - 1; at >= 0; at-- {
		q := &w.all[at]
		if q.process != b.Process[i] || q.call != b.Call[i] {
			continue
		}
		q.ret, q.accepted = b.Index[i], b.Outcome[i] == history.OK
		if before != nil && q.accepted {
			before.doubt, q.doubt = true, true
		}
		return
	}
}

// open is the last of a process's that was accepted, where its connection has not
// ended: the next may have been called before that is written down.
func (w *wills) open(process int32) *bequest {
	for i := len(w.all) - 1; i >= 0; i-- {
		if q := &w.all[i]; q.process == process && q.accepted {
			if q.leave != history.None {
				return nil
			}
			return q
		}
	}
	return nil
}

// next returns when the client of a will connected again after that connection; never where
// it did not.
func (w *wills) next(i int) int64 {
	for _, q := range w.all[i+1:] {
		if q.process == w.all[i].process {
			return q.called
		}
	}
	return never
}
