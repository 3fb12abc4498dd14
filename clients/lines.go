package clients

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// will fills in the will of a connect, which must be the next of its client's.
func will(l *contract.Line, p *proc, e *history.Event) error {
	switch s := p.will; {
	case s == nil && l.Stream == nil && l.Seq == nil:
	case s == nil:
		return fmt.Errorf("a connect with a will, and process %d is to have none", l.Process)
	case l.Stream == nil || l.Seq == nil:
		return fmt.Errorf("a connect without the will that process %d is to have", l.Process)
	case *l.Stream != s.Stream.Stream || *l.Seq != s.next:
		return fmt.Errorf("will %d of stream %d, want %d of %d", *l.Seq, *l.Stream, s.next, s.Stream.Stream)
	default:
		s.next++
		e.Stream, e.Seq, e.QoS = *l.Stream, *l.Seq, s.QoS
	}
	return nil
}

// publish fills in the message that a publish names, which must be the next
// of its stream.
func publish(l *contract.Line, p *proc, e *history.Event) error {
	if l.Stream == nil || l.Seq == nil {
		return errors.New("a publish without stream and sequence number")
	}
	s := p.streams[*l.Stream]
	switch {
	case s == nil:
		return fmt.Errorf("stream %d is none of process %d's", *l.Stream, l.Process)
	case *l.Seq != s.next:
		return fmt.Errorf("sequence number %d of stream %d, want %d", *l.Seq, *l.Stream, s.next)
	}
	s.next++
	e.Kind, e.Stream, e.Seq, e.QoS = history.KindPublish, *l.Stream, *l.Seq, s.QoS
	if s.Retain {
		e.Flags |= history.FlagRetain
	}
	if l.End {
		e.Flags |= history.FlagEnd
	}
	return nil
}

func outcomeOf(o string) (history.Outcome, error) {
	switch o {
	case "ok":
		return history.OK, nil
	case "fail":
		return history.Fail, nil
	case "info":
		return history.Info, nil
	}
	return history.OutcomeNone, fmt.Errorf("outcome %q is none of ok, fail, info", o)
}

// told fills in the message that the SDK spoke of, which must have been called.
func told(l *contract.Line, p *proc, e *history.Event) error {
	if l.Stream == nil || l.Seq == nil {
		return errors.New("told without stream and sequence number")
	}
	s := p.streams[*l.Stream]
	if s == nil || *l.Seq < 0 || *l.Seq >= s.next {
		return fmt.Errorf("told of message %d of stream %d, which was not called", *l.Seq, *l.Stream)
	}
	outcome, err := outcomeOf(l.Outcome)
	e.Kind, e.Stream, e.Seq, e.QoS, e.Outcome = history.KindTold, *l.Stream, *l.Seq, s.QoS, outcome
	return err
}

// parseCRC reads a checksum as lines carry it.
func parseCRC(s string) (uint32, error) {
	n, err := strconv.ParseUint(s, 16, 32)
	if err != nil || len(s) != 8 {
		return 0, fmt.Errorf("checksum %q is not eight hex digits", s)
	}
	return uint32(n), nil
}
