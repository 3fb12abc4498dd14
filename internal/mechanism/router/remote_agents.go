package router

import (
	"context"
	"fmt"
	"io"
	"net/rpc"
	"slices"
	"sync"
	"time"
)

// agentBound is how long an agent may take to begin, and to answer. The longest bursts take a few
// seconds.
const agentBound = 10 * time.Second

// hosts are those that may have an agent.
func (r *Remote) hosts() []string { return slices.Concat(r.opt.Nodes(), r.opt.Clients()) }

// agent returns that of a host. If there is none it attaches one, and has it show the rules first. The
// caller holds the lock.
func (r *Remote) agent(ctx context.Context, host string) (*attached, error) {
	if a := r.agents[host]; a != nil {
		return a, nil
	}
	if r.closed {
		return nil, errClosed
	}
	if !slices.Contains(r.hosts(), host) {
		return nil, fmt.Errorf("no host %q: %w", host, ErrAgent)
	}
	ctx, cancel := context.WithTimeout(ctx, r.bound)
	defer cancel()
	conn, own, err := r.opt.Attach(ctx, host)
	if err != nil {
		return nil, fmt.Errorf("attach to the network of %s: %w: %w", host, ErrAgent, err)
	}
	a := &attached{own: own}
	left := make(chan struct{})
	a.Client = rpc.NewClient(&watched{conn, sync.OnceFunc(func() { close(left) })})
	r.agents[host], r.own[host] = a, own
	go func() {
		<-left
		r.lost(host, a)
	}()
	_, err = ask[Sighting](ctx, r, a, "Seen", uint64(0)) // it answers once its ports are open
	if err == nil && r.shows() {
		err = r.show(ctx, r.rules, r.queues, false)
	}
	if err != nil {
		a.Close()
		delete(r.agents, host)
		return nil, fmt.Errorf("attach to the network of %s: %w", host, err)
	}
	return a, nil
}

// A watched tells when it cannot be read any more.
type watched struct {
	io.ReadWriteCloser
	left func()
}

func (w *watched) Read(b []byte) (int, error) {
	n, err := w.ReadWriteCloser.Read(b)
	if err != nil {
		w.left()
	}
	return n, err
}

// shows reports whether agents have something to show.
func (r *Remote) shows() bool { return len(r.rules)+len(r.queues) > 0 }

// ask calls a method of an agent, and ends the agent if it does not answer within the bound: a machine
// may hang.
func ask[T any](ctx context.Context, r *Remote, a *attached, method string, args any) (T, error) {
	type reply struct {
		value T
		err   error
	}
	replied := make(chan reply, 1)
	go func() {
		var got reply
		got.err = a.Call(agentName+"."+method, args, &got.value)
		replied <- got
	}()
	bound := time.NewTimer(r.bound)
	defer bound.Stop()
	select {
	case got := <-replied:
		if _, told := got.err.(rpc.ServerError); got.err != nil && !told {
			return got.value, fmt.Errorf("%w: %w", ErrAgent, got.err)
		}
		return got.value, got.err
	case <-ctx.Done():
		return *new(T), ctx.Err()
	case <-bound.C:
		a.Close()
		return *new(T), fmt.Errorf("%w within %s; look at the machine of %s", ErrNoAnswer, r.bound, a.own)
	}
}

// lost forgets an agent that is gone, and attaches the next one if there are rules: the node may have
// been restarted.
func (r *Remote) lost(host string, a *attached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.Close()
	if r.agents[host] != a {
		return
	}
	delete(r.agents, host)
	for !r.closed && r.shows() && r.agents[host] == nil && slices.Contains(r.hosts(), host) {
		if _, err := r.agent(context.Background(), host); err != nil {
			r.mu.Unlock()
			time.Sleep(200 * time.Millisecond)
			r.mu.Lock()
		}
	}
}
