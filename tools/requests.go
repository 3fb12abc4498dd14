package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"
)

// Bounds of what a client may have in flight. A request is in flight until its
// answer is about to be written, so a client that reads no answers is read no further.
const (
	mostMessage  = 256 << 10 // bytes of one message
	mostInFlight = 256       // requests
	mostPending  = 2 << 20   // bytes of requests in flight
)

// requests are those of one client over stdio that are in flight. mcp-go answers each
// once, whether it was cancelled or not, and several may have one id.
type requests struct {
	mu        sync.Mutex
	freed     sync.Cond
	open      map[string][]request // by the id
	n, bytes  int
	greetings int // requests of initialize
	ended     bool
}

type request struct {
	bytes     int
	greeting  bool
	cancelled bool
}

func newRequests() *requests {
	r := &requests{open: map[string][]request{}}
	r.freed.L = &r.mu
	return r
}

// admit takes a message of the client's and waits until there is room for it.
// Nothing overtakes initialize: mcp-go serves each request on its own goroutine.
func (r *requests) admit(m message, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && (r.greetings > 0 || m.asks() && r.n > 0 && (r.n >= mostInFlight || r.bytes+bytes > mostPending)) {
		r.freed.Wait()
	}
	if id := m.cancelled(); id != nil {
		of := r.open[message{ID: id}.key()]
		for i := range of {
			of[i].cancelled = !of[i].greeting // which no client may cancel
		}
	}
	if !m.asks() {
		return
	}
	greeting := m.Method == string(mcp.MethodInitialize)
	if greeting {
		r.greetings++
	}
	r.n, r.bytes = r.n+1, r.bytes+bytes
	r.open[m.key()] = append(r.open[m.key()], request{bytes: bytes, greeting: greeting})
}

// answered takes a line to the client. It returns whether the client waits for it, which
// it does not for the answer to a request that it cancelled.
func (r *requests) answered(line []byte) (awaited bool) {
	var m struct{ ID, Method any }
	if json.Unmarshal(line, &m) != nil || m.ID == nil || m.Method != nil {
		return true
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	key := message{ID: m.ID}.key()
	of := r.open[key]
	if len(of) == 0 {
		return true
	}
	r.n, r.bytes = r.n-1, r.bytes-of[0].bytes
	if of[0].greeting {
		r.greetings--
	}
	if r.open[key] = of[1:]; len(of) == 1 {
		delete(r.open, key)
	}
	r.freed.Broadcast()
	return !of[0].cancelled
}

// end lets whoever waits go on: there is nobody to answer any more.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.freed.Broadcast()
}

// incoming are a client's messages, a line each, as far as there is room for them.
// One that is too long is refused and not kept, and so is one that is no message.
type incoming struct {
	lines    *bufio.Reader
	requests *requests
	refuse   func(answer []byte)
	rest     []byte // of the line that is being passed on
	err      error  // after it
}

func (in *incoming) Read(p []byte) (int, error) {
	for len(in.rest) == 0 {
		if in.err != nil {
			return 0, in.err
		}
		in.rest, in.err = in.next()
		if len(bytes.TrimSpace(in.rest)) == 0 {
			in.rest = nil
			continue
		}
		m, refused := parseMessage(in.rest)
		if refused != nil {
			in.refuse(append(refused, '\n'))
			in.rest = nil
			continue
		}
		in.requests.admit(m, len(in.rest))
	}
	n := copy(p, in.rest)
	in.rest = in.rest[n:]
	return n, nil
}

// next is the next line that is short enough, with its end.
func (in *incoming) next() (line []byte, err error) {
	for {
		part, err := in.lines.ReadSlice('\n')
		if len(line)+len(part) > mostMessage {
			line = append(line, part...)
			in.refuse(append(refuse(line, codeInvalid, fmt.Sprintf("the message is longer than %d KiB", mostMessage>>10)), '\n'))
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.lines.ReadSlice('\n')
			}
			return nil, err
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// outgoing passes lines to the client on, notes what they answer, and drops the answers
// to what the client cancelled.
type outgoing struct {
	to       io.Writer
	requests *requests
}

func (o *outgoing) Write(line []byte) (int, error) {
	if !o.requests.answered(line) {
		return len(line), nil
	}
	return o.to.Write(line)
}
