package tools

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"time"

	"github.com/mark3labs/mcp-go/server"
)

// A long wait holds one worker, and a host may have many in flight.
const (
	workers = 64
	queued  = mostInFlight // a full queue would hold up the reading of everything else
)

// How long calls get to notice that their client is gone.
const stdioGrace = time.Second

// ServeStdio serves one client until its input ends or ctx does. Calls in
// flight are abandoned then; what they started goes on in its keeper. Messages
// for people go to the log, never to out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer, logTo *log.Logger) error {
	stdio := server.NewStdioServer(s.mcp)
	server.WithWorkerPoolSize(workers)(stdio)
	server.WithQueueSize(queued)(stdio)
	server.WithErrorLogger(logTo)(stdio)
	ended := make(chan struct{})
	served := make(chan error, 1)
	inFlight := newRequests()
	defer inFlight.end()
	to := &filter{to: &outgoing{to: out, requests: inFlight}, done: s.done}
	from := &incoming{lines: bufio.NewReaderSize(&untilEnd{in: in, ended: ended}, 64<<10), requests: inFlight,
		refuse: func(answer []byte) { _, _ = to.Write(answer) }}
	go func() { served <- stdio.Listen(ctx, from, to) }()
	select {
	case err := <-served:
		return endOfInput(err)
	case <-ctx.Done():
	case <-ended:
	}
	select {
	case err := <-served:
		return endOfInput(err)
	case <-time.After(stdioGrace):
		return nil // a call that does not notice keeps nobody
	}
}

func endOfInput(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// untilEnd says when its reader ended.
type untilEnd struct {
	in    io.Reader
	ended chan struct{}
	once  bool
}

func (u *untilEnd) Read(p []byte) (int, error) {
	n, err := u.in.Read(p)
	if err != nil && !u.once {
		u.once = true
		close(u.ended)
	}
	return n, err
}
