package driver

import (
	"sync"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// Outcomes of a call.
const (
	OK   = "ok"   // the broker acknowledged
	Fail = "fail" // it did not take effect: refused, or never sent
	Info = "info" // it may have taken effect
)

// An Ack is how a call went.
type Ack struct {
	Outcome        string
	Reason         int   // MQTT reason code
	ID             int64 // packet id; 0 where there is none
	SessionPresent bool
	Text           string // an error in words
	Read           *Message
}

// Failed is the Ack of a call that did not take effect.
func Failed(err error) Ack { return Ack{Outcome: Fail, Text: err.Error()} }

// Unknown is the Ack of a call that may have taken effect.
func Unknown(err error) Ack { return Ack{Outcome: Info, Text: err.Error()} }

// A Call is in the history and has not returned yet.
type Call struct {
	number   int64
	kind     string
	process  int32
	stream   int32 // of a publish
	seq      int64 // of a publish
	writer   *writer
	returned atomic.Bool
	told     atomic.Bool
	untold   *sync.WaitGroup // done when it is told; nil where nothing will be
	then     func(Ack)       // after the return line; may be nil
}

// Return writes the return of the call. Only the first counts.
func (c *Call) Return(a Ack) {
	if c.returned.Swap(true) {
		return
	}
	l := contract.Line{Edge: "return", Kind: c.kind, Process: c.process, Call: c.number,
		Outcome: a.Outcome, Reason: a.Reason, SessionPresent: a.SessionPresent, Text: a.Text}
	if a.ID != 0 {
		l.ID = &a.ID
	}
	if a.Read != nil {
		a.Read.describe(&l)
	}
	c.writer.Write(&l)
	if c.then != nil {
		c.then(a)
	}
}

// Told writes down what the SDK told its application of a publish: that it is
// done, where err is nil. Only the first counts.
func (c *Call) Told(err error) {
	if c.told.Swap(true) {
		return
	}
	defer c.untold.Done()
	l := contract.Line{Edge: "point", Kind: "told", Process: c.process, Stream: &c.stream, Seq: &c.seq, Outcome: OK}
	if err != nil {
		l.Outcome, l.Text = Fail, err.Error()
	}
	c.writer.Write(&l)
}
