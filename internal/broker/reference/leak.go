package reference

import (
	"context"
	"os"
	"runtime"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/robustmq/rmq-mcp/internal/plant"
)

// A Leak is something that a node takes and never gives back, on purpose, so that
// it is seen whether the judge finds it.
type Leak struct {
	Name  string
	What  string
	Every int64 // it takes once in so many times that it could

	could func(*server.Varz) int64
	take  func() any // what is to be kept
}

const (
	leakBytes = 64 << 10               // kept of a message
	leakEvery = 100 * time.Millisecond // how often it is looked at what has happened
	mostLeaks = 8192                   // so that the host lives
)

// Leaks are all of them.
func Leaks() []Leak {
	return []Leak{
		{Name: "leak-memory", What: "keeps 64 KiB of a message for ever",
			could: func(v *server.Varz) int64 { return v.InMsgs }, take: memory},
		{Name: "leak-descriptor", What: "keeps a descriptor of a connection for ever",
			could: func(v *server.Varz) int64 { return int64(v.TotalConnections) }, take: descriptor},
	}
}

// FindLeak answers the leak of a name. NAME/N is the same once in N.
func FindLeak(name string) (Leak, error) {
	l, every, err := plant.Find(name, Leaks(), func(l Leak) string { return l.Name })
	l.Every = every
	return l, err
}

// LeakPrefix begins the name of every leak.
const LeakPrefix = "leak-"

// String is the name with the rate, as FindLeak takes it.
func (l Leak) String() string { return plant.Name(l.Name, l.Every) }

// run takes for what happens at a server, until ctx is done.
func (l Leak) run(ctx context.Context, s *server.Server) {
	var kept []any
	defer func() { runtime.KeepAlive(kept) }()
	begin, known := int64(0), false
	tick := time.NewTicker(leakEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		v, err := s.Varz(nil)
		if err != nil {
			continue // it shuts down
		}
		if !known {
			begin, known = l.could(v), true
		}
		for due := min((l.could(v)-begin)/l.Every, mostLeaks); int64(len(kept)) < due; {
			kept = append(kept, l.take())
		}
	}
}

// memory is written to, so that the kernel gives it.
func memory() any {
	b := make([]byte, leakBytes)
	for i := 0; i < len(b); i += os.Getpagesize() {
		b[i] = 1
	}
	return b
}

func descriptor() any {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return nil // there is none left, which shows as well
	}
	return f
}
