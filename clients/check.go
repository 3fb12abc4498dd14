package clients

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A Target is a broker to try drivers on.
type Target struct {
	Endpoint           string // host:port
	Transport, CA      string // as in a [contract.Client]
	Username, Password string
}

// A Trial is one driver to try on one protocol.
type Trial struct {
	Program  Program // from [Provision]
	SDK      SDK
	Protocol string
	Target   Target
	Wait     time.Duration // for each step; 0: 20 s
}

const (
	tryMessages = 5 // on each stream
	tryWait     = 20 * time.Second
)

// Check uses a driver for real: two of its clients connect to a broker, one
// subscribes, the other publishes a few messages at each QoS, all arrive, and
// the driver ends in order. One that speaks an earlier version of its protocol
// only connects and ends. It is nil where that is so and the driver says of
// itself what the catalogue says. It takes a bounded time, whatever the driver
// does; the error ends with what the driver printed last.
func Check(ctx context.Context, try Trial) error {
	printed := &tail{}
	t, err := begin(ctx, try, printed)
	if err != nil {
		return err
	}
	defer t.close()
	step := t.exchange
	if slices.Contains(try.SDK.Cannot, contract.CannotProtocol) {
		step = t.connected
	}
	if err = step(); err == nil {
		err = t.end()
	}
	if err != nil {
		return fmt.Errorf("%w%s", err, printed)
	}
	return nil
}

// A trial is a driver being checked.
type trial struct {
	ctx    context.Context // ends when the driver fails
	close  func()
	driver *Driver
	seen   *history.Memory
	sent   int // messages of the publisher
	bound  time.Duration
}

const trialReader, trialWriter = 0, 1 // processes

func begin(ctx context.Context, try Trial, printed io.Writer) (*trial, error) {
	spec, sent := trialSpec("check"+strings.ToLower(rand.Text()[:12]), try.Protocol, try.Target)
	streams := make([]history.Stream, len(spec.Clients[trialWriter].Publish.Streams))
	ctx, cancel := context.WithCancelCause(ctx)
	try.Program.SDK = try.SDK
	t := &trial{ctx: ctx, sent: sent, bound: cmp.Or(try.Wait, tryWait), seen: history.NewMemory(history.Tables{Streams: streams})}
	var err error
	t.driver, err = Start(ctx, Options{
		Command: try.Program, Spec: spec, Recorder: t.seen, Clock: history.NewClock(), Stderr: printed, OnError: cancel,
	})
	if err != nil {
		cancel(nil)
		return nil, err
	}
	t.close = func() {
		cancel(nil)
		t.driver.Close()
		<-t.driver.Done()
	}
	return t, nil
}

// trialSpec is a subscriber and a publisher on topics of their own.
func trialSpec(name, protocol string, at Target) (spec contract.Spec, sent int) {
	client := func(process int32) contract.Client {
		return contract.Client{
			Process: process, ClientID: fmt.Sprintf("%s-%d", name, process), Endpoints: []string{at.Endpoint}, Protocol: protocol,
			Transport: at.Transport, CA: at.CA, Username: at.Username, Password: at.Password,
			Clean: true, KeepAliveS: 30, ReconnectMS: 200, Start: "connected",
		}
	}
	reader, writer := client(trialReader), client(trialWriter)
	reader.Subscribe = []contract.Filter{{Filter: name + "/#", QoS: 2}}
	writer.Start = "waiting"
	writer.Publish = &contract.Publish{RatePerS: 100, PayloadBytes: 128, MaxInflight: 10}
	qos := []uint8{0, 1, 2}
	if protocol == contract.MQ9 {
		reader.Subscribe, qos = []contract.Filter{{Filter: name, QoS: 1}}, []uint8{1}
	}
	for i, q := range qos {
		topic := name
		if protocol != contract.MQ9 {
			topic = fmt.Sprintf("%s/%d", name, q)
		}
		writer.Publish.Streams = append(writer.Publish.Streams, contract.Stream{Stream: int32(i), Topic: topic, QoS: q})
	}
	sent = tryMessages * len(qos)
	writer.Publish.Count = int64(sent)
	const ackWaitMS = 5000
	return contract.Spec{Run: name[5:13], AckWaitMS: ackWaitMS, Clients: []contract.Client{reader, writer}}, sent
}

// connected is all that can be expected of an SDK that brokers of today refuse.
func (t *trial) connected() error {
	return t.wait("connected", 1, trialReader, history.KindConnect, history.Return)
}

// exchange is a subscription, and what is published to it.
func (t *trial) exchange() error {
	if err := t.wait("subscribed", 1, trialReader, history.KindSubscribe, history.Return); err != nil {
		return err
	}
	if err := t.driver.Do(contract.Command{Do: "connect", Process: trialWriter}); err != nil {
		return err
	}
	if err := t.wait("published", t.sent, trialWriter, history.KindPublish, history.Return); err != nil {
		return err
	}
	return t.wait("delivered", t.sent, trialReader, history.KindDeliver, history.Point)
}

// end ends the driver in order.
func (t *trial) end() error {
	if err := t.driver.Do(contract.Command{Do: "end", Process: contract.All}); err != nil {
		return err
	}
	<-t.driver.Done() // it is killed where it says no bye
	return t.driver.Err()
}

// wait waits for so many events of a client that did not fail.
func (t *trial) wait(what string, n int, process int32, kind history.Kind, edge history.Edge) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.bound)
	defer cancel()
	got := t.seen.Wait(ctx, n, func(e history.Event) bool {
		return e.Process == process && e.Kind == kind && e.Edge == edge && (edge == history.Point || e.Outcome == history.OK)
	})
	switch {
	case got >= n:
		return nil
	case t.ctx.Err() != nil:
		return context.Cause(t.ctx)
	}
	return fmt.Errorf("%s %d of %d after %s; %s", what, got, n, t.bound, t.last(process))
}

// last is what a client did last.
func (t *trial) last(process int32) string {
	for _, e := range slices.Backward(t.seen.Events()) {
		switch {
		case e.Process != process, e.Kind == history.KindDriver: // which is what its process did
		case e.Edge == history.Call:
			return fmt.Sprintf("it called %s, which has not returned", e.Kind)
		case e.Text != "":
			return fmt.Sprintf("the last it said is %s %s: %s", e.Kind, e.Outcome, e.Text)
		default:
			return fmt.Sprintf("the last it said is %s %s", e.Kind, e.Outcome)
		}
	}
	return "it said nothing, not even that it connects"
}
