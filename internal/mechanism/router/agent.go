package router

import (
	"context"
	"errors"
	"io"
	"net/netip"
	"net/rpc"
	"net/rpc/jsonrpc"
)

// agentName is that of an agent's service.
const agentName = "Agent"

// A Part is what an agent shows: the rules about packets to its host.
type Part struct {
	Own   netip.Addr            `json:"own"`
	Hosts map[string]netip.Addr `json:"hosts"` // of all nodes
	Rules []PartRule            `json:"rules"`
}

// A PartRule is a [Rule] on its way to an agent, whole.
type PartRule struct {
	Rule
	Fault string `json:"fault"`
	Do    Action `json:"do"`
}

// A Burst asks an agent for probes to another one.
type Burst struct {
	Session uint64         `json:"session"` // that no other burst of the run has
	To      netip.AddrPort `json:"to"`
	Ping    Ping           `json:"ping"`
}

// A Sighting is the probes of one burst as the agent at their end saw them.
type Sighting struct {
	Seen       []int `json:"seen"` // different ones by number, in the order of their arrival
	Duplicated int   `json:"duplicated"`
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
	server.ServeCodec(jsonrpc.NewServerCodec(on))
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
