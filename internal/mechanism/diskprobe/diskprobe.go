// Package diskprobe looks at a data directory as its broker does: through whatever is
// mounted there, from a process of its own. A mount that hangs holds every process
// that touches it until somebody lets go. That must never happen to the keeper. A
// helper that hangs is given up, and the next question starts another.
package diskprobe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"
)

// A Question is what a helper is asked, one line of JSON each.
type Question struct {
	Do     string `json:"do"`               // touch, byte, count
	Op     string `json:"op,omitempty"`     // touch: an operation, of internal/mechanism/disk's names
	Times  int    `json:"times,omitempty"`  // touch: how often, at most; it stops at the first error
	Path   string `json:"path,omitempty"`   // byte: relative to the directory
	Offset int64  `json:"offset,omitempty"` // byte
}

// An Answer is what came of it, one line of JSON too.
type Answer struct {
	TookNS int64  `json:"took_ns,omitempty"` // touch: of the last operation
	Errno  string `json:"errno,omitempty"`   // touch: what the last operation failed with: ENOSPC
	Value  int64  `json:"value,omitempty"`   // byte: the byte; count: the regular files
	Error  string `json:"error,omitempty"`   // the question could not be answered
}

// mostHung bounds the helpers that hang at the same time.
const mostHung = 8

// A Probe is a directory and the helper that looks at it. Its methods may be
// called at the same time; questions are answered one after the other.
type Probe struct {
	command func() *exec.Cmd
	start   func(*exec.Cmd) error

	turn   chan struct{} // holds one token: who has it asks
	helper *helper

	mu   sync.Mutex
	hung int
}

// New makes a probe of a directory. Command is the argv prefix that runs
// [Main] in this binary; start starts it, nil by itself. Nothing runs before
// the first question.
func New(command []string, dir string, start func(*exec.Cmd) error) *Probe {
	if start == nil {
		start = (*exec.Cmd).Start
	}
	p := &Probe{
		command: func() *exec.Cmd {
			return exec.Command(command[0], append(command[1:len(command):len(command)], dir)...)
		},
		start: start, turn: make(chan struct{}, 1),
	}
	p.turn <- struct{}{}
	return p
}

// Touch does an operation in the directory until it fails, at most so many
// times, and answers how long the last one took and its error's name, "" where
// it was done.
func (p *Probe) Touch(ctx context.Context, op string, times int) (took time.Duration, errno string, err error) {
	a, err := p.ask(ctx, Question{Do: "touch", Op: op, Times: times})
	return time.Duration(a.TookNS), a.Errno, err
}

// Byte reads a byte of a file.
func (p *Probe) Byte(ctx context.Context, path string, offset int64) (byte, error) {
	a, err := p.ask(ctx, Question{Do: "byte", Path: path, Offset: offset})
	return byte(a.Value), err
}

// Count counts the regular files, those of probes left out.
func (p *Probe) Count(ctx context.Context) (int, error) {
	a, err := p.ask(ctx, Question{Do: "count"})
	return int(a.Value), err
}

// Close ends the helper, without waiting for one that hangs.
func (p *Probe) Close() {
	<-p.turn
	defer func() { p.turn <- struct{}{} }()
	p.drop()
}

func (p *Probe) ask(ctx context.Context, q Question) (Answer, error) {
	select {
	case <-p.turn:
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("probe the data directory: another probe is not through: %w", ctx.Err())
	}
	defer func() { p.turn <- struct{}{} }()
	if p.helper == nil {
		h, err := p.run()
		if err != nil {
			return Answer{}, fmt.Errorf("probe the data directory: %w", err)
		}
		p.helper = h
	}
	a, err := p.helper.ask(ctx, q)
	if err != nil {
		p.drop()
		return a, fmt.Errorf("probe the data directory: %w", err)
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// drop gives the helper up.
func (p *Probe) drop() {
	h := p.helper
	if h == nil {
		return
	}
	p.helper = nil
	h.in.Close()
	h.cmd.Process.Kill()
	p.mu.Lock()
	p.hung++
	p.mu.Unlock()
	go func() {
		h.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		p.hung--
	}()
}

// A helper is the process.
type helper struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (p *Probe) run() (*helper, error) {
	p.mu.Lock()
	hung := p.hung
	p.mu.Unlock()
	if hung >= mostHung {
		return nil, fmt.Errorf("%d helpers hang in it", hung)
	}
	h := &helper{cmd: p.command()}
	in, err := h.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := h.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.start(h.cmd); err != nil {
		return nil, fmt.Errorf("start a helper: %w", err)
	}
	h.in, h.out = in, bufio.NewReader(out)
	return h, nil
}

func (h *helper) ask(ctx context.Context, q Question) (Answer, error) {
	line, err := json.Marshal(q)
	if err != nil {
		return Answer{}, err
	}
	type result struct {
		a   Answer
		err error
	}
	got := make(chan result, 1)
	go func() {
		var r result
		if _, r.err = h.in.Write(append(line, '\n')); r.err == nil {
			var text []byte
			if text, r.err = h.out.ReadBytes('\n'); r.err == nil {
				r.err = json.Unmarshal(text, &r.a)
			}
		}
		got <- r
	}()
	select {
	case r := <-got:
		return r.a, r.err
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("no answer: %w", ctx.Err())
	}
}
