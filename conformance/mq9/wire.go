package mq9

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// The parts of NATS that a request and its reply need, as
// docs.nats.io/reference/reference-protocols/nats-protocol has them. They are
// written out because a check has to choose what libraries choose for it: the
// number of the subscription and the subject of the replies.

// maxLine and maxPayload bound what a broker may make us hold.
const (
	maxLine    = 1 << 20
	maxPayload = 64 << 20
)

// errMalformed is of what is not NATS, or more than we hold.
var errMalformed = errors.New("what the broker sent cannot be read")

// A client is one connection. Its subscription for replies has the number that
// async-nats gives it, unless a check chooses another one.
type client struct {
	x       *exam
	name    string // in the transcript
	address string
	conn    net.Conn
	r       *bufio.Reader
	info    serverInfo
	inbox   string // replies come to inbox.N
	early   bool   // PING came before PONG
	still   bool   // nothing is sent while a reply is waited for

	writing sync.Mutex
	mu      sync.Mutex
	asked   int
	waiting map[string]chan message // by reply subject
	heard   chan message            // of other subscriptions
	errors  []string                // what -ERR said
	twice   []message               // second replies
	stuck   error                   // of a write that the broker did not take whole
	lost    error                   // why no more will come
	gone    chan struct{}           // closed with lost
}

// A message is what MSG or HMSG brought.
type message struct {
	subject, sid string
	data         []byte
}

type serverInfo struct {
	MaxPayload int `json:"max_payload"`
}

// muxSID is the number of the subscription that replies come to.
const muxSID = "0"

// dial opens a connection whose replies all come by one subscription.
func (x *exam) dial(name, address string) *client {
	c := x.open(name, address)
	c.subscribe(c.inbox+".*", muxSID)
	return c
}

// open opens a connection and subscribes to nothing.
func (x *exam) open(name, address string) *client {
	c, err := x.tryOpen(name, address)
	if err != nil {
		x.Undecided("connect to %s: %v", address, err)
	}
	return c
}

// tryOpen goes through INFO, CONNECT and PING to PONG.
func (x *exam) tryOpen(name, address string) (*client, error) {
	conn, err := (&net.Dialer{Timeout: x.wait}).DialContext(x.Ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c := &client{
		x: x, name: name, address: address, conn: conn, r: bufio.NewReader(conn), inbox: fmt.Sprintf("_INBOX.%s%d", x.token, x.connections.Add(1)),
		waiting: map[string]chan message{}, heard: make(chan message, 4096), gone: make(chan struct{}),
	}
	x.mu.Lock()
	x.clients = append(x.clients, c)
	x.mu.Unlock()
	conn.SetDeadline(time.Now().Add(x.wait))
	line, err := c.line()
	if err != nil {
		return nil, fmt.Errorf("wait for INFO: %w", err)
	}
	text, ok := strings.CutPrefix(line, "INFO ")
	if !ok || json.Unmarshal([]byte(text), &c.info) != nil {
		return nil, fmt.Errorf("the broker began with %q instead of INFO", clip(line))
	}
	hello, err := json.Marshal(map[string]any{
		"verbose": false, "pedantic": false, "headers": true, "no_responders": false, "lang": "rmq-mcp", "version": "1", "protocol": 1,
		"name": x.token, "user": x.user, "pass": x.password,
	})
	if err != nil {
		return nil, err
	}
	c.write("CONNECT "+string(hello)+"\r\n", "CONNECT")
	c.write("PING\r\n", "PING")
	stop := c.nudging()
	defer stop()
	for {
		line, err := c.line()
		switch {
		case err != nil:
			return nil, fmt.Errorf("wait for PONG: %w", err)
		case line == "PONG":
			conn.SetDeadline(time.Time{})
			go c.receive()
			return c, nil
		case line == "PING":
			c.early = true
			c.write("PONG\r\n", "PONG")
		case strings.HasPrefix(line, "-ERR"):
			return nil, fmt.Errorf("it says %s", clip(line))
		}
	}
}

// line is the next line, without its end.
func (c *client) line() (string, error) {
	var line []byte
	for {
		part, err := c.r.ReadSlice('\n')
		line = append(line, part...)
		if err == nil {
			return strings.TrimRight(string(line), "\r\n"), nil
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
		if len(line) > maxLine {
			return "", fmt.Errorf("%w: a line of more than %d bytes", errMalformed, maxLine)
		}
	}
}

// receive reads until the connection is closed.
func (c *client) receive() {
	var err error
	for err == nil {
		err = c.receiveOne()
	}
	c.x.Note(c.name, "←", "closed: %v", err)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lost = err
	close(c.gone)
}

func (c *client) receiveOne() error {
	line, err := c.line()
	if err != nil {
		return err
	}
	verb, rest, _ := strings.Cut(line, " ")
	switch strings.ToUpper(verb) {
	case "MSG", "HMSG":
		m, err := c.message(strings.ToUpper(verb) == "HMSG", strings.Fields(rest))
		if err != nil {
			return fmt.Errorf("%w in %s", err, clip(line))
		}
		c.x.Note(c.name, "←", "%s sid %s: %s", m.subject, m.sid, clip(string(m.data)))
		c.pass(m)
	case "PING":
		c.write("PONG\r\n", "PONG")
	case "-ERR":
		c.x.Note(c.name, "←", "%s", clip(line))
		c.mu.Lock()
		c.errors = append(c.errors, clip(line))
		c.mu.Unlock()
	}
	return nil
}

// message reads what follows the line of a MSG, subject sid [reply] size, or of an
// HMSG, subject sid [reply] size-of-headers size.
func (c *client) message(headed bool, fields []string) (message, error) {
	sizes := 1
	if headed {
		sizes = 2
	}
	if n := len(fields); n != 2+sizes && n != 3+sizes {
		return message{}, fmt.Errorf("%w: %d fields", errMalformed, n)
	}
	size, err := strconv.Atoi(fields[len(fields)-1])
	if err != nil || size < 0 || size > maxPayload {
		return message{}, fmt.Errorf("%w: no size", errMalformed)
	}
	head := 0
	if headed {
		if head, err = strconv.Atoi(fields[len(fields)-2]); err != nil || head < 0 || head > size {
			return message{}, fmt.Errorf("%w: no size of headers", errMalformed)
		}
	}
	data := make([]byte, size+2)
	if _, err := io.ReadFull(c.r, data); err != nil {
		return message{}, err
	}
	return message{subject: fields[0], sid: fields[1], data: data[head:size]}, nil
}

// pass hands a message to who waits for it.
func (c *client) pass(m message) {
	c.mu.Lock()
	to, ok := c.waiting[m.subject]
	if ok && to == nil {
		c.twice = append(c.twice, m)
	}
	if ok {
		c.waiting[m.subject] = nil
	}
	c.mu.Unlock()
	if !ok {
		to = c.heard
	}
	select {
	case to <- m:
	default: // more than anybody asked for
	}
}

// write sends bytes, and ignores that the broker closed the connection: reading
// shows it.
func (c *client) write(raw, said string) {
	c.x.Note(c.name, "→", "%s", said)
	c.send(raw)
}

func (c *client) send(raw string) {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.conn.SetWriteDeadline(time.Now().Add(c.x.wait))
	if _, err := io.WriteString(c.conn, raw); errors.Is(err, os.ErrDeadlineExceeded) {
		c.mu.Lock()
		c.stuck = err
		c.mu.Unlock()
	}
}

// nudging sends a PING now and then until it is stopped: a broker that leaves what came
// together with something else until more comes is held against one statement, and not
// against all.
func (c *client) nudging() (stop func()) {
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(2 * lookAgain)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				c.send("PING\r\n")
			case <-done:
				return
			}
		}
	}()
	return sync.OnceFunc(func() { close(done) })
}

func (c *client) subscribe(subject, sid string) {
	c.write(fmt.Sprintf("SUB %s %s\r\n", subject, sid), fmt.Sprintf("SUB %s sid %s", subject, sid))
}

func (c *client) unsubscribe(sid string) {
	c.write(fmt.Sprintf("UNSUB %s\r\n", sid), "UNSUB sid "+sid)
}

// publish sends a message; headers are names and values.
func (c *client) publish(subject, reply string, body []byte, headers ...string) {
	raw, said := frame(subject, reply, body, headers...)
	c.write(raw, said)
}

// frame is a message as it is sent, and as a transcript shows it.
func frame(subject, reply string, body []byte, headers ...string) (text, said string) {
	if reply != "" {
		reply += " "
	}
	var raw bytes.Buffer
	said = subject
	if len(headers) == 0 {
		fmt.Fprintf(&raw, "PUB %s %s%d\r\n", subject, reply, len(body))
	} else {
		var head strings.Builder
		head.WriteString("NATS/1.0\r\n")
		for i := 0; i+1 < len(headers); i += 2 {
			fmt.Fprintf(&head, "%s: %s\r\n", headers[i], headers[i+1])
			said += " " + headers[i] + ":" + headers[i+1]
		}
		head.WriteString("\r\n")
		fmt.Fprintf(&raw, "HPUB %s %s%d %d\r\n%s", subject, reply, head.Len(), head.Len()+len(body), head.String())
	}
	raw.Write(body)
	raw.WriteString("\r\n")
	return raw.String(), said + " " + clip(string(body))
}

// drop closes the connection.
func (c *client) drop() {
	c.x.Note(c.name, "→", "closes the connection")
	c.conn.Close()
}

// clipped is how much of a text a transcript shows.
const clipped = 200

func clip(s string) string {
	if len(s) > clipped {
		return fmt.Sprintf("%q… (%d bytes)", s[:clipped], len(s))
	}
	return fmt.Sprintf("%q", s)
}
