package experiment

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A fakeSystem is one broker that keeps sessions, and drivers of which each is a few maps. It
// records what drivers would.
type fakeSystem struct {
	*record
	refuses string // why each SUBSCRIBE is refused
	shut    string // why each CONNECT fails
	greets  bool   // it lets the harness in all the same
	stays   bool   // clients do not disconnect
	slow    int    // publishes of a second that it acknowledges, at most; 0 for all
	swallow int64  // the number of a message that is delivered only after its client came back; 0 for none
	loses   int64  // likewise, that is never delivered
	gone    bool
	holds   time.Duration // for how long clients wait for PUBREL
	began   time.Time
	asked   []string // topics of which it was asked what is stored

	mu      sync.Mutex
	clients map[int32]*fakeClient
	drivers []*fakeDriver

	refusesDriver string // name of one that does not start
}

type fakeClient struct {
	contract.Client
	connected, paused bool
	queue             []history.Event // deliveries that wait
	came              int             // connections
	finish            chan struct{}   // closed at the end of its publishing; nil if it does not also subscribe
}

func newFakeSystem(r *record) *fakeSystem {
	return &fakeSystem{record: r, clients: map[int32]*fakeClient{}, began: time.Now()}
}

func (f *fakeSystem) reach(string, string) []string {
	return []string{"198.18.0.1:1883", "198.18.0.2:1883", "198.18.0.3:1883"}
}

func (f *fakeSystem) credentials() (user, password string) { return "", "" }
func (f *fakeSystem) ca() string                           { return "" }
func (f *fakeSystem) lost() bool                           { return f.gone }
func (f *fakeSystem) width() int                           { return 3 }

func (f *fakeSystem) conditions(clients.SDK, string) scenarios.Conditions {
	return scenarios.Conditions{}
}

func (f *fakeSystem) unreleased([]int32) int {
	if time.Since(f.began) < f.holds {
		return 1
	}
	return 0
}

func (f *fakeSystem) stored(_ context.Context, _ int, topic string) (int64, error) {
	f.asked = append(f.asked, topic)
	return 0, cluster.ErrUnsupported
}

func (f *fakeSystem) greet(context.Context, string, string, string) (string, error) {
	if f.shut != "" && !f.greets {
		return "", errors.New(f.shut)
	}
	return "CONNACK", nil
}

func (f *fakeSystem) drive(_ context.Context, name string, _ clients.Program, spec contract.Spec) (driver, error) {
	if name == f.refusesDriver {
		return nil, errors.New("no machine takes it")
	}
	d := &fakeDriver{system: f, name: name, spec: spec, done: make(chan struct{}), stop: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drivers = append(f.drivers, d)
	for _, c := range spec.Clients {
		f.clients[c.Process] = &fakeClient{Client: c}
		if c.Start == "connected" {
			f.connect(c.Process)
		}
	}
	if strings.HasPrefix(name, "probe") {
		go d.publishers()
	}
	return d, nil
}

// happens records a call and its return.
func (f *fakeSystem) happens(kind history.Kind, process int32, of contract.Filter, o history.Outcome, text string) {
	ev := f.event(kind, process)
	ev.Text, ev.QoS = of.Filter, of.QoS
	ev.Call = f.rec.Record(ev)
	ev.Edge, ev.Outcome, ev.Text, ev.Reason = history.Return, o, text, of.QoS
	if c := f.clients[process]; kind == history.KindConnect && o == history.OK && c.came > 1 && !c.Clean {
		ev.Flags |= history.FlagSessionPresent
	}
	f.rec.Record(ev)
}

// event is one of a client's.
func (f *fakeSystem) event(kind history.Kind, process int32) history.Event {
	c := f.clients[process]
	return history.Event{
		Time: f.clock.Now(), Kind: kind, Edge: history.Call, Via: history.ViaDriver, Process: process, Conn: int32(max(c.came-1, 0)),
		Call: history.None, Node: f.nodeOf(process), Stream: history.None, Seq: history.None, ID: history.None,
	}
}

// nodeOf is the node that a client begins at.
func (f *fakeSystem) nodeOf(process int32) int16 {
	return int16(slices.Index(f.reach("", ""), f.clients[process].Endpoints[0]))
}

func (f *fakeSystem) connect(process int32) {
	c := f.clients[process]
	if f.shut != "" {
		f.happens(history.KindConnect, process, contract.Filter{}, history.Fail, f.shut)
		return
	}
	c.connected, c.came = true, c.came+1
	f.happens(history.KindConnect, process, contract.Filter{}, history.OK, "")
	for _, by := range c.Subscribe {
		switch {
		case c.came > 1 && !c.Clean: // its session has the subscription
		case f.refuses != "":
			f.happens(history.KindSubscribe, process, by, history.Fail, f.refuses)
		default:
			f.happens(history.KindSubscribe, process, by, history.OK, "")
		}
	}
	f.flush(c)
}

func (f *fakeSystem) disconnect(process int32) {
	ev := f.event(history.KindDisconnect, process)
	ev.Edge, ev.Outcome = history.Point, history.OK
	f.rec.Record(ev)
	f.clients[process].connected = false
}

// flush delivers what waits, if the client reads.
func (f *fakeSystem) flush(c *fakeClient) {
	if !c.connected || c.paused {
		return
	}
	queue := c.queue
	c.queue = nil
	for _, ev := range queue {
		if ev.Seq == f.loses && f.loses > 0 || ev.Seq == f.swallow && f.swallow > 0 && c.came < 2 {
			c.queue = append(c.queue, ev)
			continue
		}
		ev.Time, ev.Conn = f.clock.Now(), int32(c.came-1)
		f.rec.Record(ev)
	}
}

// publish acknowledges a message and delivers it to every subscriber.
func (f *fakeSystem) publish(process int32, s contract.Stream, seq int64, flags history.Flags) {
	f.mu.Lock()
	defer f.mu.Unlock()
	ev := f.event(history.KindPublish, process)
	ev.Stream, ev.Seq, ev.QoS, ev.Flags = s.Stream, seq, s.QoS, flags
	ev.Call = f.rec.Record(ev)
	ev.Edge, ev.Outcome = history.Return, history.OK
	f.rec.Record(ev)
	for _, i := range f.subscribers() {
		c := f.clients[i]
		if !slices.ContainsFunc(c.Subscribe, func(by contract.Filter) bool { return history.Matches(by.Filter, s.Topic) }) {
			continue
		}
		deliver := f.event(history.KindDeliver, i)
		deliver.Edge, deliver.Stream, deliver.Seq, deliver.QoS, deliver.Flags = history.Point, s.Stream, seq, s.QoS, flags
		c.queue = append(c.queue, deliver)
		f.flush(c)
	}
}

func (f *fakeSystem) subscribers() (list []int32) {
	for i, c := range f.clients {
		if len(c.Subscribe) > 0 {
			list = append(list, i)
		}
	}
	slices.Sort(list)
	return list
}

type fakeDriver struct {
	system *fakeSystem
	name   string
	spec   contract.Spec
	err    error
	shot   bool
	closed bool

	commands []string
	stop     chan struct{} // of the publishers
	done     chan struct{}
}

func (d *fakeDriver) Do(c contract.Command) error {
	f := d.system
	f.mu.Lock()
	defer f.mu.Unlock()
	d.commands = append(d.commands, c.Do)
	switch {
	case c.Do == "end":
		if len(d.commands) > 1 && slices.Contains(d.commands[:len(d.commands)-1], "end") {
			return errors.New("it has ended")
		}
		close(d.stop)
		if !strings.HasPrefix(d.name, "publishers") && !strings.HasPrefix(d.name, "probe") {
			d.ends()
		}
	case c.Do == "connect" && c.Process == contract.All:
		go d.publishers()
	case c.Do == "connect":
		f.connect(c.Process)
	case c.Do == "disconnect" && !f.stays:
		f.disconnect(c.Process)
	case c.Do == "reconnect":
		f.disconnect(c.Process)
		f.connect(c.Process)
	case c.Do == "pause":
		f.clients[c.Process].paused = true
	case c.Do == "resume":
		f.clients[c.Process].paused = false
		f.flush(f.clients[c.Process])
		if client := f.clients[c.Process]; client.Publish != nil && client.finish == nil {
			client.finish = make(chan struct{})
			go f.pour([]contract.Client{client.Client}, client.finish)
		}
	case c.Do == "finish":
		close(f.clients[c.Process].finish)
	}
	return nil
}

// ends has every client disconnect and end.
func (d *fakeDriver) ends() {
	for _, c := range d.spec.Clients {
		d.system.disconnect(c.Process)
		for _, kind := range []history.Kind{history.KindObserve, history.KindEnd} {
			ev := d.system.event(kind, c.Process)
			ev.Edge, ev.Node, ev.Conn, ev.Value = history.Point, history.None, 0, 1
			if kind == history.KindObserve {
				ev.Text = history.ObserveDriverLines
			}
			d.system.rec.Record(ev)
		}
	}
	close(d.done)
}

// publishers are clients that publish until the driver is told to end.
func (d *fakeDriver) publishers() {
	f := d.system
	f.mu.Lock()
	for _, c := range d.spec.Clients {
		if c.Start != "connected" {
			f.connect(c.Process)
		}
	}
	f.mu.Unlock()
	f.pour(d.spec.Clients, d.stop)
	f.mu.Lock()
	defer f.mu.Unlock()
	d.ends()
}

// pour publishes on each stream at the rate of its client, and an end marker at the stop.
func (f *fakeSystem) pour(clients []contract.Client, stop <-chan struct{}) {
	var all []func(seq int64, flags history.Flags)
	rate := 0.0
	for _, c := range clients {
		rate += c.Publish.RatePerS
		for _, s := range c.Publish.Streams {
			all = append(all, func(seq int64, flags history.Flags) { f.publish(c.Process, s, seq, flags) })
		}
	}
	if f.slow > 0 {
		rate = float64(f.slow)
	}
	for n := 0; ; n++ {
		select {
		case <-stop:
			for i, publish := range all {
				publish(int64((n+len(all)-1-i)/len(all)), history.FlagEnd)
			}
			return
		case <-time.After(time.Duration(float64(time.Second) / rate)):
			all[n%len(all)](int64(n/len(all)), 0)
		}
	}
}

func (d *fakeDriver) Done() <-chan struct{}             { return d.done }
func (d *fakeDriver) Err() error                        { return d.err }
func (d *fakeDriver) Shot() bool                        { return d.shot }
func (d *fakeDriver) State() (string, error)            { return history.StateRunning, nil }
func (d *fakeDriver) Set(context.Context, string) error { return nil }
func (d *fakeDriver) Connections() (int, error)         { return len(d.spec.Clients), nil }
func (d *fakeDriver) Lines() int64                      { return int64(len(d.commands)) }

// Close ends a driver that was not told to.
func (d *fakeDriver) Close() error {
	d.closed = true
	if !slices.Contains(d.commands, "end") {
		return d.Do(contract.Command{Do: "end", Process: contract.All})
	}
	return nil
}
