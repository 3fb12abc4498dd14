package driver

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// hearWait is how long the last word of an SDK is waited for.
const hearWait = time.Second

// A Process is one client of the specification: what its SDK's session tells
// of it becomes lines.
type Process struct {
	client contract.Client
	spec   contract.Spec
	sdk    SDK
	w      *writer

	session  Session
	producer *producer // nil for who publishes nothing
	finished bool      // publishing
	pause    gate      // closed between pause and resume
	online   gate      // closed while it is to be disconnected
	commands chan string
	quit     chan struct{} // closed when stdin has ended: nothing is worth waiting for
	quitOnce sync.Once

	untold sync.WaitGroup // publishes of which the SDK has told nothing yet

	onReady   func(*Conn)    // instead of subscribing and producing, where set
	onMessage func(*Message) // instead of a delivery line, where set

	wills atomic.Int64 // that were made

	subscribing sync.Mutex
	subscribed  map[contract.Filter]bool // acknowledged ones
}

func newProcess(sdk SDK, spec contract.Spec, client contract.Client, w *writer) *Process {
	p := &Process{
		client: client, spec: spec, sdk: sdk, w: w,
		commands:   make(chan string, 64),
		quit:       make(chan struct{}),
		subscribed: map[contract.Filter]bool{},
	}
	if client.Publish != nil && len(client.Publish.Streams) > 0 {
		p.producer = newProducer(p, *client.Publish)
	}
	p.online.shut()
	if client.ReadRegisters != nil {
		p.session = &reader{parent: p}
	} else {
		p.session = sdk.Open(p)
	}
	return p
}

// Client is the process's part of the specification.
func (p *Process) Client() contract.Client { return p.client }

// do queues a command.
func (p *Process) do(command string) {
	if command == "abandon" {
		p.quitOnce.Do(func() { close(p.quit) })
	}
	select {
	case p.commands <- command:
	default: // it has ended, or is buried in commands
	}
}

// run carries out the commands until the end.
func (p *Process) run() {
	for {
		switch command := <-p.commands; command {
		case "connect":
			p.connect()
		case "disconnect":
			p.disconnect()
		case "reconnect":
			p.disconnect()
			p.connect()
		case "pause":
			if p.pause.shut() {
				p.point("pause", "")
			}
		case "resume":
			if p.pause.open() {
				p.point("resume", "")
			}
		case "finish":
			p.finish()
		case "end":
			p.finish()
			p.disconnect()
			p.hear()
			return
		case "abandon":
			p.disconnect()
			return
		default:
			fmt.Fprintf(os.Stderr, "driver: no command %q in the contract\n", command)
		}
	}
}

// finish ends the publishing, once.
func (p *Process) finish() {
	if p.producer != nil && !p.finished {
		p.finished = true
		p.producer.finish()
	}
}

// hear waits until the SDK has told of every publish what it is going to, while
// that takes it no more than a moment.
func (p *Process) hear() {
	heard := make(chan struct{})
	go func() { p.untold.Wait(); close(heard) }()
	select {
	case <-heard:
	case <-time.After(hearWait):
	}
}

func (p *Process) connect() {
	if p.online.open() {
		p.session.Connect()
	}
}

func (p *Process) disconnect() {
	if p.online.shut() {
		p.session.Disconnect()
	}
}

// StayConnected serves one endpoint after the other until ctx ends, from the first
// again after each connection, with the client's pause between. Serve returns when a
// connection has ended, false where there was none.
func (p *Process) StayConnected(ctx context.Context, serve func(ctx context.Context, endpoint string) bool) {
	for ctx.Err() == nil {
		for _, endpoint := range p.client.Endpoints {
			if ctx.Err() == nil && serve(ctx, endpoint) {
				break
			}
		}
		select {
		case <-time.After(milliseconds(p.client.ReconnectMS)):
		case <-ctx.Done():
		}
	}
}

// Connected is to be called by the session when a connection of its is ready
// for use, after each connect.
func (p *Process) Connected(c *Conn) {
	if p.onReady != nil {
		p.onReady(c)
		return
	}
	go func() {
		p.subscribe(c)
		if p.producer != nil {
			p.producer.start()
		}
	}()
}

// subscribe asks for the subscriptions that the session cannot have: all of
// them where the broker did not keep it, else those never acknowledged.
func (p *Process) subscribe(c *Conn) {
	p.subscribing.Lock()
	defer p.subscribing.Unlock()
	for _, f := range p.client.Subscribe {
		if p.subscribed[f] && c.SessionPresent() {
			continue
		}
		call := p.open(&contract.Line{Kind: "subscribe", QoS: f.QoS, Text: f.Filter})
		ack := p.session.Subscribe(f)
		p.subscribed[f] = ack.Outcome == OK
		call.Return(ack)
	}
}

// Hold waits while the process is paused. It is false if the connection of
// what waits ends first.
func (p *Process) Hold(c *Conn) bool { return p.pause.wait(c.Done()) }

// Deliver is the application's callback for a message: it writes it down, and
// takes as long as the specification says, while the connection lasts.
func (p *Process) Deliver(m *Message, c *Conn) {
	if p.onMessage != nil {
		p.onMessage(m)
		return
	}
	l := contract.Line{Edge: "point", Kind: "deliver", Process: p.client.Process, Text: m.Topic}
	m.describe(&l)
	p.w.Write(&l)
	if p.client.DelayMS > 0 {
		sleep(milliseconds(p.client.DelayMS), c.Done())
	}
}

// Fetching writes down that a mailbox is asked for messages, which is to be done
// next. The call returns with the number of messages in the answer as its ID.
func (p *Process) Fetching(mailbox string) *Call {
	return p.open(&contract.Line{Kind: "fetch", Text: mailbox})
}

// Acknowledged writes down that the broker took a consumer's acknowledgement of
// a message.
func (p *Process) Acknowledged(id int64) {
	p.w.Write(&contract.Line{Edge: "point", Kind: "ack", Process: p.client.Process, ID: &id})
}

// Log writes a line for the log file.
func (p *Process) Log(text string) { p.w.Write(&contract.Line{Edge: "log", Text: text}) }

// connectCall writes the call of a connect, with the will that it is to carry,
// whose payload it answers; nil for none.
func (p *Process) connectCall(endpoint string) (*Call, []byte) {
	l := contract.Line{Kind: "connect", Endpoint: endpoint}
	w := p.client.Will
	if w == nil {
		return p.open(&l), nil
	}
	seq := p.wills.Add(1) - 1
	h := contract.Header{
		Run: p.spec.Run, Process: p.client.Process, Incarnation: uint16(p.spec.Epoch),
		Stream: w.Stream, Seq: seq, QoS: w.QoS, Kind: contract.KindMessage, T: monotonic(), Len: w.PayloadBytes,
	}
	l.Stream, l.Seq = &w.Stream, &seq
	return p.open(&l), h.Encode()
}

// gone writes that a connection has ended, and whether the client had sent
// DISCONNECT.
func (p *Process) gone(why string, left bool) {
	l := contract.Line{Edge: "point", Kind: "disconnect", Process: p.client.Process, Text: why}
	if left {
		l.Outcome = OK
	}
	p.w.Write(&l)
}

func (p *Process) point(kind, text string) {
	p.w.Write(&contract.Line{Edge: "point", Kind: kind, Process: p.client.Process, Text: text})
}

// open writes a call.
func (p *Process) open(l *contract.Line) *Call {
	l.Process = p.client.Process
	c := &Call{kind: l.Kind, process: l.Process, writer: p.w}
	if l.Kind == "publish" && !slices.Contains(p.sdk.Cannot, contract.CannotTold) {
		c.stream, c.seq, c.untold = *l.Stream, *l.Seq, &p.untold
		p.untold.Add(1)
	}
	c.number = p.w.Call(l)
	return c
}
