package cluster

import (
	"context"
	"fmt"
	"strings"
	"syscall"
)

// An instance is what a node runs as, from one start to its end: a process of
// this system, or a container.
type instance interface {
	String() string // process 12
	// number is the process's; 0 for one that this system cannot name.
	number() int
	// identity tells this instance from any other, an earlier one of the same
	// node too.
	identity() (string, error)
	// state is running, frozen, or how it ended.
	state(context.Context) (string, error)
	exited() bool
	// ended is closed once it is gone and how is known.
	ended() <-chan struct{}
	// how it ended, valid after that.
	how() string
	// starved reports whether the kernel ended it, as there was no memory; valid
	// after that too.
	starved() bool
	// next waits for what somebody else starts in its place, nil for nothing; valid after
	// that.
	next(ctx context.Context) instance
	// signal brings it towards another state: sigFreeze, sigThaw, sigEnd, sigKill.
	signal(syscall.Signal) error
}

func (p *process) identity() (string, error) {
	return fmt.Sprintf("process %d, started at tick %d", p.pid, p.born), nil
}

func (p *process) number() int                   { return p.pid }
func (p *process) ended() <-chan struct{}        { return p.gone }
func (p *process) next(context.Context) instance { return nil }
func (p *process) how() string                   { return p.exit }
func (p *process) starved() bool {
	return strings.Contains(p.exit, "signal 9") && outOfMemory(p)
}
