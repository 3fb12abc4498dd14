package clients

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// A translator turns a driver's lines into events, and refuses lines that
// cannot be true. Only record may be called from several goroutines.
type translator struct {
	opts    Options
	started int64                                // host clock, nanoseconds
	offset  int64                                // host clock minus driver's clock
	ahead   func() (ahead, within time.Duration) // of its machine's clock
	last    int64                                // time of the last line, on the host's clock
	greeted bool
	bye     *contract.Line
	lines   int64 // received so far
	scrub   *secret.Scrubber

	procs  map[int32]*proc
	calls  map[int64]call // open ones, by the driver's number
	topics []string       // of the table of streams, as last seen

	mu sync.Mutex // of record: times are taken in the order of recording
}

// A proc is what is known of one of the driver's clients.
type proc struct {
	streams map[int32]*stream
	topics  bool    // its deliveries say the topic that they came under
	will    *stream // of its wills; nil for none
	conn    int32   // incarnation; -1 before the first
	node    int16   // of the connection; None without one
	last    int16   // of the last connection
}

type stream struct {
	contract.Stream
	next int64 // sequence number
}

// A call is one that has not returned.
type call struct {
	event history.Event
	host  int64 // when, on the host's clock
}

// passwords are those that a driver is told.
func passwords(spec contract.Spec) (all []string) {
	for _, c := range spec.Clients {
		all = append(all, c.Password)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func newTranslator(opts Options, started int64) *translator {
	if opts.Node == nil {
		opts.Node = func(string) int16 { return history.None }
	}
	t := &translator{opts: opts, started: started, ahead: child{}.Ahead, procs: map[int32]*proc{}, calls: map[int64]call{}, scrub: secret.New(passwords(opts.Spec)...)}
	for _, c := range opts.Spec.Clients {
		p := &proc{streams: map[int32]*stream{}, topics: c.Protocol != contract.MQ9, conn: -1, node: history.None, last: history.None}
		if c.Publish != nil {
			for _, s := range c.Publish.Streams {
				p.streams[s.Stream] = &stream{Stream: s}
			}
		}
		if w := c.Will; w != nil {
			p.will = &stream{Stream: contract.Stream{Stream: w.Stream, Topic: w.Topic, QoS: w.QoS}}
		}
		t.procs[c.Process] = p
	}
	return t
}

// record records what the harness itself has to say of the driver, now.
func (t *translator) record(e history.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e.Time = t.opts.Clock.Now()
	e.Call, e.Node, e.Stream, e.Seq, e.ID = history.None, history.None, history.None, history.None, history.None
	t.put(e)
}

// put records an event without the secrets that a broker or an SDK may have
// written into its text.
func (t *translator) put(e history.Event) int64 {
	e.Text = t.scrub.Text(e.Text)
	return t.opts.Recorder.Record(e)
}

// line records what l says. now is when it was read, on the host's clock. An
// error means that l broke the contract; nothing is recorded then.
func (t *translator) line(l *contract.Line, now int64) error {
	t.lines++
	switch {
	case t.bye != nil:
		return errors.New("a line after bye")
	case l.Edge == "hello":
		return t.hello(l, now)
	case !t.greeted:
		return errors.New("the first line is not hello")
	case l.Edge == "log":
		return nil
	case l.Edge == "bye":
		bye := *l
		t.bye = &bye
		return nil
	}
	host, err := t.host(l.TimeNS, now)
	if err != nil {
		return err
	}
	p := t.procs[l.Process]
	if p == nil {
		return fmt.Errorf("process %d is none of its own", l.Process)
	}
	switch l.Edge {
	case "call":
		return t.call(l, p, host)
	case "return":
		return t.ret(l, p, host)
	case "point":
		return t.point(l, p, host)
	}
	return fmt.Errorf("event %q is none of the contract's", l.Edge)
}

func (t *translator) hello(l *contract.Line, now int64) error {
	switch {
	case t.greeted:
		return errors.New("a second hello")
	case l.Contract != contract.Version:
		return fmt.Errorf("contract %d, this is %d; use a driver of that version", l.Contract, contract.Version)
	case l.Clock == "process":
		t.offset = now - l.TimeNS
	case l.Clock != "monotonic":
		return fmt.Errorf("clock %q is neither monotonic nor process", l.Clock)
	}
	t.greeted = true
	return nil
}

// host converts a time of the driver's to the host's clock. If the driver has a
// clock of its own, a time later than now counts as now: the offset of that clock
// was measured late by the travel time of one line. Times by the clock of another
// machine do not decrease, although later lines know its offset better.
func (t *translator) host(at, now int64) (int64, error) {
	ahead, within := t.ahead()
	host := at + t.offset - int64(ahead)
	if within > 0 {
		host = max(host, t.last)
	}
	switch {
	case host < t.started-int64(within):
		return 0, fmt.Errorf("its time is %s before the driver started", time.Duration(t.started-host))
	case host > now+int64(within) && t.offset == 0:
		return 0, fmt.Errorf("its time is %s in the future", time.Duration(host-now))
	}
	t.last = min(host, now)
	return t.last, nil
}

func (t *translator) event(l *contract.Line, p *proc, host int64) history.Event {
	return history.Event{
		Call: history.None, Time: t.opts.Clock.At(host), Process: l.Process, Conn: max(p.conn, 0),
		Via: history.ViaDriver, Node: p.node, Stream: history.None, Seq: history.None, ID: history.None,
		QoS: l.QoS, Reason: uint8(l.Reason), Text: l.Text,
	}
}

func (t *translator) call(l *contract.Line, p *proc, host int64) error {
	if _, open := t.calls[l.Call]; open || l.Call <= 0 {
		return fmt.Errorf("call number %d is not new", l.Call)
	}
	e := t.event(l, p, host)
	e.Edge = history.Call
	switch l.Kind {
	case "connect":
		e.Kind, e.Conn, e.Node, e.Text = history.KindConnect, p.conn+1, t.opts.Node(l.Endpoint), l.Endpoint
		if err := will(l, p, &e); err != nil {
			return err
		}
	case "subscribe":
		e.Kind = history.KindSubscribe
	case "unsubscribe":
		e.Kind = history.KindUnsubscribe
	case "fetch":
		e.Kind = history.KindFetch
	case "publish":
		if err := publish(l, p, &e); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no call is of kind %q", l.Kind)
	}
	c := call{event: e, host: host}
	c.event.Index = t.put(e)
	t.calls[l.Call] = c
	return nil
}

func (t *translator) ret(l *contract.Line, p *proc, host int64) error {
	c, ok := t.calls[l.Call]
	switch {
	case !ok:
		return fmt.Errorf("a return from call %d, which is not open", l.Call)
	case c.event.Process != l.Process:
		return fmt.Errorf("process %d returns from a call of process %d", l.Process, c.event.Process)
	case host < c.host:
		return fmt.Errorf("it returns %s before its call", time.Duration(c.host-host))
	case l.Reason < 0 || l.Reason > 255:
		return fmt.Errorf("reason code %d", l.Reason)
	}
	outcome, err := outcomeOf(l.Outcome)
	if err != nil {
		return err
	}
	delete(t.calls, l.Call)
	e := c.event // kind and message of the call; the connection is that on which the answer came
	e.Edge, e.Call, e.Time, e.Outcome = history.Return, c.event.Index, t.opts.Clock.At(host), outcome
	if e.Kind != history.KindConnect {
		e.Conn, e.Node = max(p.conn, 0), p.last
	}
	e.Reason, e.Text = uint8(l.Reason), l.Text
	if l.ID != nil {
		e.ID = *l.ID
	}
	switch e.Kind {
	case history.KindConnect:
		if l.SessionPresent {
			e.Flags |= history.FlagSessionPresent
		}
		if outcome == history.OK {
			p.conn, p.node, p.last = p.conn+1, e.Node, e.Node
		}
		e.Conn = max(p.conn, 0)
	case history.KindFetch:
		if l.Header != "" {
			t.identify(l, &e)
		}
	}
	t.put(e)
	return nil
}

func (t *translator) point(l *contract.Line, p *proc, host int64) error {
	e := t.event(l, p, host)
	switch l.Kind {
	case "deliver":
		// A message that had arrived may be handled after its connection is gone.
		e.Kind, e.Node, e.Text = history.KindDeliver, p.last, ""
		if l.Text == "" && p.topics {
			return errors.New("a delivery without the topic that it came under")
		}
		if l.Dup {
			e.Flags |= history.FlagDup
		}
		if l.Retain {
			e.Flags |= history.FlagRetain
		}
		if l.ID != nil {
			e.ID = *l.ID
		}
		t.identify(l, &e)
		if p.topics && e.Stream != history.None && !e.Flags.Has(history.FlagCorrupt) && contract.Renamed(l.Text, t.topics[e.Stream]) {
			e.Flags |= history.FlagRenamed
			e.Text = l.Text
		}
	case "disconnect":
		e.Kind, p.node = history.KindDisconnect, history.None
		if l.Outcome == "ok" {
			e.Outcome = history.OK
		}
	case "pause":
		e.Kind = history.KindPause
	case "resume":
		e.Kind = history.KindResume
	case "ack":
		e.Kind = history.KindAck
		if l.ID != nil {
			e.ID = *l.ID
		}
	case "told":
		if err := told(l, p, &e); err != nil {
			return err
		}
	default:
		return fmt.Errorf("no point is of kind %q", l.Kind)
	}
	t.put(e)
	return nil
}

// identify reads who a message is from its header: stream and number, or why
// it cannot be told. A damaged one whose header is intact is the one that it was.
func (t *translator) identify(l *contract.Line, e *history.Event) {
	h, err := contract.ParseHeader(l.Header)
	crc, crcErr := parseCRC(l.CRC)
	switch {
	case errors.Is(err, contract.ErrForeign):
		e.Flags |= history.FlagForeign
		e.Text = fmt.Sprintf("%.40q", l.Header)
	case err != nil:
		e.Flags |= history.FlagCorrupt
		e.Text = err.Error()
	case crcErr != nil || crc != h.CRC || h.Len != l.Length:
		e.Flags |= history.FlagCorrupt
		e.Text = fmt.Sprintf("%d bytes with checksum %s; header %s", l.Length, l.CRC, l.Header)
		if h.Run == t.opts.Spec.Run && t.known(h.Stream) && h.Intact() {
			e.Stream, e.Seq = h.Stream, h.Seq
		}
	case h.Run != t.opts.Spec.Run || !t.known(h.Stream):
		e.Flags |= history.FlagForeign
		e.Text = l.Header
	default:
		e.Stream, e.Seq = h.Stream, h.Seq
		if h.End() {
			e.Flags |= history.FlagEnd
		}
	}
}

// known reports whether the run's tables have the stream. They only grow.
func (t *translator) known(stream int32) bool {
	if int(stream) >= len(t.topics) {
		for _, s := range t.opts.Recorder.Tables().Streams[len(t.topics):] {
			t.topics = append(t.topics, s.Topic)
		}
	}
	return int(stream) < len(t.topics)
}

// end records how many lines arrived and, of a driver that kept the contract,
// that its processes finished in order and how many it wrote.
func (t *translator) end(inOrder bool) {
	arrived := t.lines
	if t.bye != nil {
		arrived-- // bye does not count itself
	}
	for _, c := range t.opts.Spec.Clients {
		t.record(history.Event{Kind: history.KindObserve, Process: c.Process, Via: history.ViaDriver,
			Text: history.ObserveDriverLines, Value: float64(arrived)})
		if inOrder {
			t.record(history.Event{Kind: history.KindEnd, Process: c.Process, Via: history.ViaDriver,
				Value: float64(t.bye.Lines)})
		}
	}
}
