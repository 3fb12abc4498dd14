// Package driver is the common part of the drivers of Go SDKs: the specification
// and the commands, the lines, the payloads, the pace, the bookkeeping. Each SDK
// adds a [Session].
package driver

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
)

// An SDK is a client library and how to use it.
type SDK struct {
	Name       string
	Version    string
	Protocols  []string // that it speaks
	Transports []string // besides tcp
	Dedupes    bool
	Cannot     []string
	Open       func(*Process) Session

	// Greeting reads the broker's answer to a connect out of what a connection
	// has read so far; false while it is not whole. Nil is MQTT's CONNACK.
	Greeting func(read []byte) (Ack, bool)

	// WebSocket connects to a URL, ws:// or wss://, with the subprotocol mqtt.
	WebSocket func(ctx context.Context, url string, trust *tls.Config) (net.Conn, error)
}

// A Session is one MQTT session in the hands of an SDK. The connections that
// it makes come from [Process.Dial]. Its methods are not called concurrently,
// but for Disconnect, which ends a Subscribe or Publish that waits.
type Session interface {
	// Connect begins to connect and returns at once. From then on the session
	// keeps itself connected, and tells the Process by Connected.
	Connect()
	// Disconnect closes the connection in order and keeps it closed. When it
	// returns nothing more is delivered.
	Disconnect()
	// Subscribe subscribes and waits for the SUBACK.
	Subscribe(contract.Filter) Ack
	// Publish hands a message to the SDK, in order of its calls. When the
	// broker's acknowledgement is seen, or it is known that none will come,
	// call.Return is called.
	Publish(call *Call, s contract.Stream, payload []byte)
}

// Main is a driver: it reads a specification and commands from stdin and
// writes lines to stdout until all its clients have ended.
func Main(sdk SDK, stdin io.Reader, stdout io.Writer) error {
	out, err := protectStdout(stdout)
	if err != nil {
		return fmt.Errorf("move stdout away: %w", err)
	}
	input := bufio.NewReader(stdin)
	spec, err := readSpec(sdk, input)
	if err != nil {
		return err
	}
	w := newWriter(out)
	w.Write(&contract.Line{Edge: "hello", Contract: contract.Version, SDK: sdk.Name, Version: sdk.Version,
		Clock: clockName, Cannot: sdk.Cannot, Dedupes: sdk.Dedupes})
	d := newDriver(sdk, spec, w)
	for _, p := range d.processes {
		if p.client.Start != "waiting" {
			p.do("connect")
		}
	}
	go d.commands(input)
	ended := make(chan struct{})
	go func() { d.ended.Wait(); close(ended) }()
	select {
	case <-ended:
		w.Bye()
		return w.Err()
	case <-w.broken: // nobody reads any more
		return w.Err()
	}
}

func readSpec(sdk SDK, input *bufio.Reader) (contract.Spec, error) {
	var spec contract.Spec
	line, err := input.ReadBytes('\n')
	if err != nil {
		return spec, fmt.Errorf("read the specification: %w; the driver is started by rmq-mcp", err)
	}
	if err := json.Unmarshal(line, &spec); err != nil {
		return spec, fmt.Errorf("read the specification: %w", err)
	}
	if spec.Contract != contract.Version {
		return spec, fmt.Errorf("specification of contract %d, this driver speaks %d", spec.Contract, contract.Version)
	}
	if len(spec.Run) != contract.RunLen {
		return spec, fmt.Errorf("run %q is not %d characters", spec.Run, contract.RunLen)
	}
	for _, c := range spec.Clients {
		if !slices.Contains(sdk.Protocols, c.Protocol) {
			return spec, fmt.Errorf("client %d wants %s, %s speaks %s", c.Process, c.Protocol, sdk.Name, strings.Join(sdk.Protocols, " "))
		}
		if len(c.Endpoints) == 0 {
			return spec, fmt.Errorf("client %d has no endpoint", c.Process)
		}
		if t := c.Transport; t != "" && t != contract.TCP && !slices.Contains(sdk.Transports, t) {
			return spec, fmt.Errorf("client %d wants %s, %s has tcp %s", c.Process, t, sdk.Name, strings.Join(sdk.Transports, " "))
		}
		if _, err := trust(c); err != nil {
			return spec, fmt.Errorf("client %d: %w", c.Process, err)
		}
	}
	return spec, nil
}

// driver is all clients of the one process.
type driver struct {
	processes map[int32]*Process
	ended     sync.WaitGroup
}

func newDriver(sdk SDK, spec contract.Spec, w *writer) *driver {
	d := &driver{processes: map[int32]*Process{}}
	for _, c := range spec.Clients {
		p := newProcess(sdk, spec, c, w)
		d.processes[c.Process] = p
		d.ended.Add(1)
		go func() {
			defer d.ended.Done()
			p.run()
		}()
	}
	return d
}

// commands hands each command to its processes. The end of stdin ends all.
func (d *driver) commands(input *bufio.Reader) {
	for {
		line, err := input.ReadBytes('\n')
		if err != nil {
			for _, p := range d.processes {
				p.do("abandon")
			}
			return
		}
		var c contract.Command
		if err := json.Unmarshal(line, &c); err != nil {
			fmt.Fprintf(os.Stderr, "driver: command %q: %v\n", line, err)
			continue
		}
		for id, p := range d.processes {
			if c.Process == contract.All || c.Process == id {
				p.do(c.Do)
			}
		}
	}
}

// milliseconds of the contract.
func milliseconds(n int) time.Duration { return time.Duration(n) * time.Millisecond }

var errGone = errors.New("the process has ended")
