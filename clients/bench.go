package clients

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

// The load of a benchmark: messages of QoS 1.
const (
	BenchWindow  = 50                     // called and not acknowledged, at most
	BenchPayload = 256                    // bytes
	BenchTurn    = 250 * time.Millisecond // so long one client publishes, then another
	benchFor     = 2 * time.Second
)

// A Benchmark is one driver to measure on one protocol.
type Benchmark struct {
	Trial
	For      time.Duration // on each path, at each rate; 0: 2 s
	Progress func(string)  // may be nil

	// Observe returns the witness of the packets that pass the tap. An experiment
	// writes them down in its history. May be nil: then there is no witness.
	Observe func(rec *history.Recorder, clock history.Clock, run string) func(tap.Hello) tap.Witness
}

// A Performance is how fast a driver publishes.
type Performance struct {
	Full Paths `json:"full"` // as fast as the window lets
	Half Paths `json:"half"` // at half of the rate that it has directly
}

// Paths are the ways to a broker.
type Paths struct {
	Direct Pace  `json:"direct"`
	Tapped *Pace `json:"tapped,omitempty"` // through the tap; nil where that cannot read the protocol
}

// A Pace is what was measured on one path.
type Pace struct {
	PerS  float64 `json:"per_s"`  // publishes acknowledged: the median of its turns
	P50US float64 `json:"p50_us"` // from the call of a publish to its acknowledgement, both as the driver saw them
	P99US float64 `json:"p99_us"`
}

// Bench measures a driver beside its broker, at two rates. The driver has a
// client on each path, directly and through the tap, and they publish in turns,
// so that whatever else the machine does hits both. Where an error comes at the
// second rate, what was measured at the first is answered with it.
func Bench(ctx context.Context, b Benchmark) (p Performance, err error) {
	b.say("as fast as it goes")
	if p.Full, err = b.measure(ctx, 0); err != nil {
		return p, fmt.Errorf("as fast as it goes: %w", err)
	}
	rate := p.Full.Direct.PerS / 2
	b.say(fmt.Sprintf("at %.0f/s, half of that", rate))
	if p.Half, err = b.measure(ctx, rate); err != nil {
		return p, fmt.Errorf("at half of its rate, %.0f/s: %w", rate, err)
	}
	return p, nil
}

func (b Benchmark) say(text string) {
	if b.Progress != nil {
		b.Progress(text)
	}
}

// measure measures both paths at a rate, 0 for no limit.
func (b Benchmark) measure(ctx context.Context, rate float64) (paths Paths, err error) {
	dir, err := os.MkdirTemp("", "rmq-mcp-bench-*")
	if err != nil {
		return paths, err
	}
	defer os.RemoveAll(dir)
	m := newMeter()
	rec, err := history.Create(dir, history.Options{OnEvent: m.see})
	if err != nil {
		return paths, err
	}
	defer rec.Close()
	clock, run := history.NewClock(), strings.ToLower(rand.Text()[:8])
	at := []string{b.Target.Endpoint}
	if b.Protocol != contract.MQ9 {
		t, through, err := b.tap(rec, clock, run)
		if err != nil {
			return paths, err
		}
		defer t.Close()
		at = append(at, through)
	}
	runFor := cmp.Or(b.For, benchFor)
	bound := time.Duration(1+len(at))*cmp.Or(b.Wait, tryWait) + 3*time.Duration(len(at))*runFor // it starts, and connects
	ctx, cancel := context.WithTimeoutCause(ctx, bound, fmt.Errorf("not within %s", bound))
	defer cancel()
	printed := &tail{}
	c := contest{meter: m, turn: min(BenchTurn, runFor), paths: len(at)}
	if err := c.start(ctx, Options{Command: b.Program, Spec: b.spec(rec, run, rate, at), Recorder: rec, Clock: clock, Stderr: printed}); err != nil {
		return paths, err
	}
	defer c.close()
	if err := c.run(int(runFor / c.turn)); err != nil {
		return paths, fmt.Errorf("%w%s", err, printed)
	}
	paths.Direct = m.pace(0)
	if len(at) > 1 {
		tapped := m.pace(1)
		paths.Tapped = &tapped
	}
	return paths, rec.Err()
}

// tap puts a tap before the broker.
func (b Benchmark) tap(rec *history.Recorder, clock history.Clock, run string) (*tap.Tap, string, error) {
	var opt tap.Options
	if b.Observe != nil {
		opt.Observe = b.Observe(rec, clock, run)
	}
	t := tap.New(opt)
	at, err := t.Listen("node-1", "127.0.0.1:0", b.Target.Endpoint)
	if err != nil {
		t.Close()
		return nil, "", err
	}
	return t, at, nil
}

// spec is a publisher on each path, with its rows of the tables. In mq9 another
// client makes the mailbox.
func (b Benchmark) spec(rec *history.Recorder, run string, rate float64, at []string) contract.Spec {
	spec := contract.Spec{Run: run}
	add := func(endpoint string) *contract.Client {
		id := fmt.Sprintf("bench%s-%d", run, len(spec.Clients))
		process := rec.Process(history.Process{Name: id, ClientID: id, SDK: b.SDK.String(), Protocol: b.Protocol, Clean: true})
		spec.Clients = append(spec.Clients, contract.Client{
			Process: process, ClientID: id, Endpoints: []string{endpoint}, Protocol: b.Protocol,
			Transport: b.Target.Transport, CA: b.Target.CA, Username: b.Target.Username, Password: b.Target.Password,
			Clean: true, KeepAliveS: 60, ReconnectMS: 200, Start: "waiting",
		})
		return &spec.Clients[process]
	}
	topic := "bench" + run
	for _, endpoint := range at {
		c := add(endpoint)
		stream := rec.Stream(history.Stream{Producer: c.Process, Topic: topic, QoS: 1})
		c.Publish = &contract.Publish{
			Streams:  []contract.Stream{{Stream: stream, Topic: topic, QoS: 1}},
			RatePerS: rate, PayloadBytes: BenchPayload, MaxInflight: BenchWindow,
		}
	}
	if b.Protocol == contract.MQ9 {
		add(at[0]).Subscribe = []contract.Filter{{Filter: topic, QoS: 1}}
	}
	return spec
}
