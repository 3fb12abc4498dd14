// Package liar is drivers that lie, one lie each, around the honest one of
// paho.mqtt.golang: they show that the judge tells a client library's doing from
// the broker's.
package liar

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/driver"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/pahomqtt"
)

// Name of the drivers; the version is the lie.
const Name = "liar"

// every is how often the lies that need not be told always are told: one in so
// many.
const every = 40

// A Lie is one way in which a client library may betray its application.
type Lie struct {
	Name string
	What string

	spec    func(*contract.Client)                               // changes what a client is to be
	publish func(honest driver.Session) publisher                // instead of the SDK's own
	lines   func(l *contract.Line, write func(l *contract.Line)) // instead of writing the line
	deaf    bool                                                 // subscribes once, and only says so afterwards
	mute    bool                                                 // publishes nothing more once its connection was lost
}

type publisher = func(call *driver.Call, s contract.Stream, payload []byte)

// Lies are all of them. The first tells none.
func Lies() []Lie {
	return []Lie{
		{Name: "honest", What: "nothing: it is as it should be"},
		{Name: "early", What: "calls a publish acknowledged before it is", publish: early},
		{Name: "swallow", What: "loses one publish in 40 and says nothing", publish: swallow},
		{Name: "reuse", What: "sends one message in 40 with the number of the one before", publish: reuse},
		{Name: "twice", What: "hands one QoS 2 message in 40 to the application twice", lines: oneIn(func(l *contract.Line, write func(*contract.Line)) {
			write(l)
			write(l)
		})},
		{Name: "drop", What: "acknowledges one QoS 2 message in 40 and keeps it from the application", lines: oneIn(func(*contract.Line, func(*contract.Line)) {})},
		{Name: "rename", What: "calls the topic of one QoS 2 message in 40 another", lines: oneIn(func(l *contract.Line, write func(*contract.Line)) {
			l.Text += "/else"
			write(l)
		})},
		{Name: "reorder", What: "hands one message in 40 to the application behind the next of its topic", lines: reorder()},
		{Name: "deaf", What: "asks for a clean session, and does not subscribe again when it lost it", deaf: true,
			spec: func(c *contract.Client) { c.Clean = c.Clean || len(c.Subscribe) > 0 }},
		{Name: "mute", What: "connects again, and publishes nothing more", mute: true},
		{Name: "die", What: "ends its process in the middle", lines: die()},
	}
}

// Main is the driver that tells a lie.
func Main(name string, stdin io.Reader, stdout io.Writer) error {
	lies := Lies()
	i := slices.IndexFunc(lies, func(l Lie) bool { return l.Name == name })
	if i < 0 {
		var names []string
		for _, l := range lies {
			names = append(names, l.Name)
		}
		return fmt.Errorf("no lie %q; there are %s", name, strings.Join(names, ", "))
	}
	lie := lies[i]
	input := bufio.NewReader(stdin)
	spec, err := lie.read(input)
	if err != nil {
		return err
	}
	sdk := pahomqtt.SDK(pahomqtt.Version)
	sdk.Name, sdk.Version = Name, name
	open := sdk.Open
	var lost sync.Map // by process
	sdk.Open = func(p *driver.Process) driver.Session {
		s := &session{Session: open(p), deaf: lie.deaf}
		s.mute = func() bool {
			_, was := lost.Load(p.Client().Process)
			return lie.mute && was
		}
		s.publish = s.Session.Publish
		if lie.publish != nil {
			s.publish = lie.publish(s.Session)
		}
		return s
	}
	if lie.lines == nil {
		lie.lines = func(l *contract.Line, write func(*contract.Line)) { write(l) }
	}
	stdout = &filter{to: stdout, lie: lie.lines, lost: &lost}
	return driver.Main(sdk, io.MultiReader(bytes.NewReader(spec), input), stdout)
}

// read reads the specification, and answers it as the lie wants it.
func (l Lie) read(input *bufio.Reader) ([]byte, error) {
	line, err := input.ReadBytes('\n')
	if err != nil || l.spec == nil {
		return line, err
	}
	var spec contract.Spec
	if err := json.Unmarshal(line, &spec); err != nil {
		return nil, fmt.Errorf("read the specification: %w", err)
	}
	for i := range spec.Clients {
		l.spec(&spec.Clients[i])
	}
	line, err = json.Marshal(spec)
	return append(line, '\n'), err
}

// A session is the honest one, but for its lie.
type session struct {
	driver.Session
	publish publisher
	deaf    bool
	mute    func() bool
	asked   atomic.Bool
}

func (s *session) Publish(call *driver.Call, stream contract.Stream, payload []byte) {
	if s.mute() && !marks(payload) {
		return
	}
	s.publish(call, stream, payload)
}

func (s *session) Subscribe(f contract.Filter) driver.Ack {
	if s.deaf && s.asked.Swap(true) {
		return driver.Ack{Outcome: driver.OK, Reason: int(f.QoS)}
	}
	return s.Session.Subscribe(f)
}

func early(honest driver.Session) publisher {
	return func(call *driver.Call, s contract.Stream, payload []byte) {
		call.Return(driver.Ack{Outcome: driver.OK})
		honest.Publish(call, s, payload)
	}
}

func swallow(honest driver.Session) publisher {
	n := 0
	return func(call *driver.Call, s contract.Stream, payload []byte) {
		if n++; n%every == 0 && !marks(payload) {
			call.Return(driver.Ack{Outcome: driver.OK})
			return
		}
		honest.Publish(call, s, payload)
	}
}

func reuse(honest driver.Session) publisher {
	n, last := 0, map[int32][]byte{}
	return func(call *driver.Call, s contract.Stream, payload []byte) {
		if n++; n%every == 0 && last[s.Stream] != nil && !marks(payload) {
			payload = last[s.Stream]
		}
		last[s.Stream] = payload
		honest.Publish(call, s, payload)
	}
}

// marks reports whether a payload is an end marker: those are spared, so that a
// run ends in order.
func marks(payload []byte) bool {
	h, err := contract.Parse(payload)
	return err == nil && h.End()
}

// A filter is between the honest driver and its standard output.
type filter struct {
	to    io.Writer
	lie   func(l *contract.Line, write func(*contract.Line))
	lost  *sync.Map // processes whose connection was lost
	lines int64
	err   error
}

// Write takes one line.
func (f *filter) Write(b []byte) (int, error) {
	var l contract.Line
	if err := contract.ParseLine(bytes.TrimSuffix(b, []byte("\n")), &l); err != nil {
		return 0, errors.Join(errors.New("the honest driver wrote no line"), err)
	}
	if l.Kind == "disconnect" {
		f.lost.Store(l.Process, true)
	}
	write := func(l *contract.Line) {
		if l.Edge == "bye" {
			l.Lines = f.lines
		}
		if _, err := f.to.Write(append(l.AppendJSON(nil), '\n')); err != nil && f.err == nil {
			f.err = err
		}
		f.lines++
	}
	// Lines of kind told are left out. paho.mqtt.golang completes its tokens when a
	// connection is replaced, and that is no lie of ours.
	if l.Kind != "told" {
		f.lie(&l, write)
	}
	return len(b), f.err
}

// delivery reports whether a line is of a message that may be lied about: no end
// marker.
func delivery(l *contract.Line) bool {
	if l.Kind != "deliver" {
		return false
	}
	h, err := contract.ParseHeader(l.Header)
	return err == nil && !h.End()
}

// oneIn tells a lie about one delivery of QoS 2 in so many; all other lines are
// written as they are.
func oneIn(lie func(l *contract.Line, write func(*contract.Line))) func(*contract.Line, func(*contract.Line)) {
	n := 0
	return func(l *contract.Line, write func(*contract.Line)) {
		if delivery(l) && l.QoS == 2 {
			if n++; n%every == 0 {
				lie(l, write)
				return
			}
		}
		write(l)
	}
}

// reorder holds one delivery in so many back until the next of its stream.
func reorder() func(*contract.Line, func(*contract.Line)) {
	n, held, of := 0, map[int32]*contract.Line{}, int32(0)
	return func(l *contract.Line, write func(*contract.Line)) {
		if l.Kind == "deliver" {
			h, err := contract.ParseHeader(l.Header)
			late := held[l.Process]
			switch n++; {
			case err == nil && late != nil && h.Stream == of:
				write(l)
				write(late)
				delete(held, l.Process)
				return
			case err == nil && len(held) == 0 && !h.End() && l.QoS == 1 && n >= every:
				kept := *l
				held[l.Process], of, n = &kept, h.Stream, 0
				return
			}
		}
		write(l)
	}
}

// die ends the process of a subscriber in the middle.
func die() func(*contract.Line, func(*contract.Line)) {
	n := 0
	return func(l *contract.Line, write func(*contract.Line)) {
		if write(l); l.Kind == "deliver" {
			if n++; n == 10*every {
				os.Exit(3)
			}
		}
	}
}
