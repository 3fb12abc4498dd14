package router

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"net/rpc"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netqueue"
)

// agentName is that of an agent's service.
const agentName = "Agent"

// A Part is the rules of an agent, about packets to its host, and the treatment of its queues.
type Part struct {
	Own    netip.Addr
	Hosts  map[string]netip.Addr // own addresses
	Leads  map[string]netip.Addr // that lead to nodes
	Rules  []Rule
	Queues map[uint16]netqueue.Treatment
}

// A Burst asks an agent for probes to another one.
type Burst struct {
	Session uint64 // that no other burst of the run has
	To      netip.AddrPort
	Ping    Ping
}

// An Asked is what an agent is asked about connections: those of its host, by its name, with some
// addresses.
type Asked struct {
	Host string
	With []netip.Addr
}

// A Sending is the probes of one burst as the agent that sent them saw them.
type Sending struct {
	Pings Pings
	// Sent and Back are times by the sender's clock, by the probe's number; 0: it was not sent, or
	// did not come back.
	Sent, Back []time.Duration
}

// A Sighting is the probes of one burst as the agent at their end saw them.
type Sighting struct {
	From       netip.AddrPort
	Seen       []int           // different ones by number, in the order of their arrival
	At         []time.Duration // when, by the clock of this end
	Duplicated int
	Corrupted  int
}

// Serve is the agent of a [Remote] in the network namespace of one host. It answers on a pair of
// streams until the first ends, and leaves nothing behind. Own is the host's address.
func Serve(ctx context.Context, own netip.Addr, in io.Reader, out io.Writer) error {
	a, err := openAgent(own)
	if err != nil {
		return err
	}
	defer a.close()
	return errors.Join(answer(a, stream{in, out}), ctx.Err())
}

// answer has an agent answer on a stream until it ends.
func answer(agent any, on io.ReadWriteCloser) error {
	server := rpc.NewServer()
	if err := server.RegisterName(agentName, agent); err != nil {
		return err
	}
	server.ServeConn(on)
	return nil
}

// A stream is a reader and a writer as one.
type stream struct {
	io.Reader
	io.Writer
}

func (stream) Close() error { return nil }

// recentSessions is how many bursts an agent remembers.
const recentSessions = 256
