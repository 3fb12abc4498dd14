package tools

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// Bounds of what a client may have in flight. A request is in flight until its
// answer was written, so a client that reads no answers is read no further.
const (
	mostMessage  = 256 << 10 // bytes of one message
	mostInFlight = 256       // requests
	mostPending  = 2 << 20   // bytes of requests in flight
)

// requests are those of one client over stdio that are in flight.
type requests struct {
	mu    sync.Mutex
	freed sync.Cond
	open  map[string]int // bytes by the id
	bytes int
	ended bool
}

func newRequests() *requests {
	r := &requests{open: map[string]int{}}
	r.freed.L = &r.mu
	return r
}

// A message is what counts of one for being in flight.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
	} `json:"params"`
}

const cancelled = "notifications/cancelled"

// admit takes a line of the client's and waits until there is room for it.
func (r *requests) admit(line []byte) {
	var m message
	if json.Unmarshal(line, &m) != nil {
		return // it is answered at once
	}
	if m.Method == cancelled {
		r.done(m.Params.RequestID) // it need not be answered
	}
	id := idKey(m.ID)
	if m.Method == "" || id == "" || m.Result != nil { // a message with a result is never answered
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for !r.ended && len(r.open) > 0 && (len(r.open) >= mostInFlight || r.bytes+len(line) > mostPending) {
		r.freed.Wait()
	}
	r.bytes += len(line) - r.open[id]
	r.open[id] = len(line)
}

// idKey is an id however it is written: 1.0 is 1. It is "" for what is no id.
func idKey(id json.RawMessage) string {
	var v any
	if json.Unmarshal(id, &v) != nil {
		return ""
	}
	switch v.(type) {
	case string, float64:
		key, _ := json.Marshal(v) // both always marshal
		return string(key)
	}
	return ""
}

// answered takes a line to the client.
func (r *requests) answered(line []byte) {
	var m message
	if json.Unmarshal(line, &m) == nil && m.Method == "" {
		r.done(m.ID)
	}
}

func (r *requests) done(id json.RawMessage) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := idKey(id)
	r.bytes -= r.open[key]
	delete(r.open, key)
	r.freed.Broadcast()
}

// end lets whoever waits go on: there is nobody to answer any more.
func (r *requests) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.freed.Broadcast()
}

// incoming are a client's lines, as far as there is room for them. One that is too
// long is refused and not kept.
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
		if len(in.rest) > 0 {
			in.requests.admit(in.rest)
		}
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
			in.refuse(tooLong(line))
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

// tooLong is the answer to a message of which this is the beginning.
func tooLong(beginning []byte) []byte {
	answer, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": idIn(beginning), "error": map[string]any{ // it always marshals
		"code": -32600, "message": fmt.Sprintf("the message is longer than %d KiB. Nothing was changed", mostMessage>>10),
	}})
	return append(answer, '\n')
}

// idIn is the id that a message has in its beginning; null where it is not there.
func idIn(beginning []byte) any {
	d := json.NewDecoder(bytes.NewReader(beginning))
	d.UseNumber()
	if start, err := d.Token(); err != nil || start != json.Delim('{') {
		return nil
	}
	for {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		if key == "id" {
			id, err := d.Token()
			if _, compound := id.(json.Delim); err != nil || compound {
				return nil
			}
			return id
		}
		var skipped json.RawMessage
		if d.Decode(&skipped) != nil {
			return nil
		}
	}
}

// outgoing passes lines to the client on and notes what they answer.
type outgoing struct {
	to       io.Writer
	requests *requests
}

func (o *outgoing) Write(line []byte) (int, error) {
	n, err := o.to.Write(line)
	o.requests.answered(line)
	return n, err
}
