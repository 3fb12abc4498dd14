package driver

import (
	"fmt"
	"os"
	"sync"

	"github.com/robustmq/rmq-mcp/clients"
)

// A Process is one client of the specification: what its SDK's session tells
// of it becomes lines.
type Process struct {
	client clients.Client
	spec   clients.Spec
	sdk    SDK
	w      *writer

	session  Session
	producer *producer // nil for who publishes nothing
	pause    gate      // closed between pause and resume
	online   gate      // closed while it is to be disconnected
	commands chan string
	quit     chan struct{} // closed when stdin has ended: nothing is worth waiting for
	quitOnce sync.Once

	onReady   func(*Conn)    // instead of subscribing and producing, where set
	onMessage func(*Message) // instead of a delivery line, where set

	subscribing sync.Mutex
	subscribed  map[clients.Filter]bool // acknowledged ones
}

func newProcess(sdk SDK, spec clients.Spec, client clients.Client, w *writer) *Process {
	p := &Process{
		client: client, spec: spec, sdk: sdk, w: w,
		commands:   make(chan string, 64),
		quit:       make(chan struct{}),
		subscribed: map[clients.Filter]bool{},
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
func (p *Process) Client() clients.Client { return p.client }

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
		case "end":
			if p.producer != nil {
				p.producer.finish()
			}
			p.disconnect()
			return
		case "abandon":
			p.disconnect()
			return
		default:
			fmt.Fprintf(os.Stderr, "driver: no command %q in the contract\n", command)
		}
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
		call := p.open(&clients.Line{K: "subscribe", Q: f.QoS, X: f.Filter})
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
	l := clients.Line{E: "point", K: "deliver", P: p.client.Process}
	m.describe(&l)
	p.w.Write(&l)
	if p.client.DelayMS > 0 {
		sleep(milliseconds(p.client.DelayMS), c.Done())
	}
}

func (p *Process) connectCall(endpoint string) *Call {
	return p.open(&clients.Line{K: "connect", A: endpoint})
}

func (p *Process) point(kind, text string) {
	p.w.Write(&clients.Line{E: "point", K: kind, P: p.client.Process, X: text})
}

// open writes a call.
func (p *Process) open(l *clients.Line) *Call {
	l.P = p.client.Process
	return &Call{kind: l.K, process: l.P, writer: p.w, number: p.w.Call(l)}
}
