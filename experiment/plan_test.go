package experiment

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

type fakeTables struct{ history.Tables }

func (f *fakeTables) Process(p history.Process) int32 {
	f.Processes = append(f.Processes, p)
	return int32(len(f.Processes) - 1)
}

func (f *fakeTables) Stream(s history.Stream) int32 {
	f.Streams = append(f.Streams, s)
	return int32(len(f.Streams) - 1)
}

func TestPlan(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", sdk: "go/x@1", protocol: "mqtt5", endpoints: []string{"a:1", "b:1", "c:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{
		Publishers: 2, Streams: 2, QoS: []uint8{0, 1}, PayloadBytes: 128, MaxInflight: 4, SlowMS: 7,
		Subscribers: scenarios.Subscribers{Online: 3, Offline: 1, Paused: 1, Slow: 1},
	})
	if got := len(plan.publishers.Clients); got != 2 {
		t.Errorf("%d publishers, want 2", got)
	}
	if got := len(rec.Streams); got != 8 {
		t.Errorf("%d streams, want 2 publishers x 2 QoS x 2", got)
	}
	if got := len(plan.guaranteed); got != 4 {
		t.Errorf("%d streams with a guarantee, want those of QoS 1", got)
	}
	subs := map[string]contract.Client{}
	ids := map[string]bool{}
	for _, c := range append(plan.publishers.Clients, plan.subscribers.Clients...) {
		row := rec.Processes[c.Process]
		subs[row.Name] = c
		if ids[c.ClientID] || len(c.ClientID) > 23 {
			t.Errorf("client id %q is taken, or longer than MQTT 3.1 allows", c.ClientID)
		}
		ids[c.ClientID] = true
		if c.Clean || c.ExpiryS != sessionExpiryS {
			t.Errorf("%s does not keep its session: %+v", row.Name, c)
		}
	}
	if diff := cmp.Diff([]string{"b:1", "c:1", "a:1"}, subs["online-2"].Endpoints); diff != "" {
		t.Errorf("online-2 does not begin at the second node: %s", diff)
	}
	if subs["slow-1"].DelayMS != 7 || subs["online-1"].DelayMS != 0 {
		t.Error("only the slow one is slow")
	}
	if subs["paused-1"].KeepAliveS <= subs["online-1"].KeepAliveS {
		t.Error("a paused client that sends no pings loses its connection")
	}
	if rate := subs["publisher-1"].Publish.RatePerS; rate != 15 {
		t.Errorf("rate %g of one publisher, want half of 30", rate)
	}
}

// Publishers of a crowd that is spread begin one after the other, each once in its interval;
// others begin at once.
func TestPlanOfACrowd(t *testing.T) {
	firsts := func(publishers int, rate float64, spread bool) (all []int) {
		p := &planner{rec: &fakeTables{}, run: "cafe0001", protocol: "mqtt5", endpoints: []string{"a:1"}, rate: rate}
		for _, c := range p.plan(scenarios.Workload{Publishers: publishers, Streams: 1, QoS: []uint8{1}, Spread: spread}).publishers.Clients {
			all = append(all, c.Publish.FirstMS)
		}
		return all
	}
	if diff := cmp.Diff([]int{0, 500, 1000, 1500}, firsts(4, 2, true)); diff != "" {
		t.Error("a message in two seconds of each of four:", diff)
	}
	if diff := cmp.Diff([]int{0, 0, 0, 0}, firsts(4, 2, false)); diff != "" {
		t.Error("not spread:", diff)
	}
	began := map[int]int{} // by tenth of a second
	for _, ms := range firsts(990, 300, true) {
		began[ms/100]++
	}
	for tenth := range 33 {
		if n := began[tenth]; n != 30 {
			t.Errorf("%d of 990 publishers begin in tenth %d of the 33 of their interval, want 30", n, tenth)
		}
	}
}

// Members of a shared subscription have one filter, and are owed each message
// together.
// No two clients of an experiment have one id, whichever call they are of.
func TestClientIDs(t *testing.T) {
	taken := map[string]bool{}
	for number := range 13 {
		p := &planner{rec: &fakeTables{}, run: "cafe0001", number: number}
		for i := range 130 {
			id := p.client(&plan{groups: map[string][]int32{}}, history.GroupOnline, i, nil).ClientID
			if taken[id] || len(id) > 23 {
				t.Fatalf("client %d of call %d has the id %q, taken or too long", i, number, id)
			}
			taken[id] = true
		}
	}
}

func TestPlanOfShared(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt5", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{
		Publishers: 1, Streams: 1, QoS: []uint8{1},
		Subscribers: scenarios.Subscribers{Online: 1, Shared: scenarios.Shared{Groups: 2, Members: 2}},
	})
	var filters []string
	for _, c := range plan.subscribers.Clients {
		filters = append(filters, rec.Processes[c.Process].Name+" "+c.Subscribe[0].Filter)
	}
	if diff := cmp.Diff([]string{
		"online-1 rmq/cafe0001/0/load/#",
		"shared-1 $share/g1/rmq/cafe0001/0/load/#", "shared-2 $share/g1/rmq/cafe0001/0/load/#",
		"shared-3 $share/g2/rmq/cafe0001/0/load/#", "shared-4 $share/g2/rmq/cafe0001/0/load/#",
	}, filters); diff != "" {
		t.Error("filters:", diff)
	}
	if diff := cmp.Diff([][]int32{{2, 3}, {4, 5}, {1}}, plan.listeners()); diff != "" {
		t.Error("listeners:", diff)
	}
}

// A subscriber whose session ends is owed nothing, and it asks for that end.
func TestPlanOfExpiring(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt5", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{Publishers: 1, Streams: 1, QoS: []uint8{1}, SessionExpiryS: 5, Subscribers: scenarios.Subscribers{Offline: 1, Expiring: 1}})
	c := plan.subscribers.Clients[1]
	if c.ExpiryS != 5 || rec.Processes[c.Process].ExpiryS != 5 || plan.subscribers.Clients[0].ExpiryS != sessionExpiryS {
		t.Errorf("%+v, %+v", plan.subscribers.Clients, rec.Processes)
	}
	if diff := cmp.Diff([][]int32{{1}}, plan.listeners()); diff != "" {
		t.Error("listeners:", diff)
	}
}

// A client with a will is a driver of its own, is owed nothing, and leaves its will
// where all subscribers hear of it.
func TestPlanOfWills(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt5", endpoints: []string{"a:1", "b:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{Publishers: 1, Streams: 1, QoS: []uint8{1}, PayloadBytes: 128, Wills: 2, Subscribers: scenarios.Subscribers{Online: 1}})
	if len(plan.wills) != 2 {
		t.Fatalf("%d drivers, want one for each client", len(plan.wills))
	}
	for i, spec := range plan.wills {
		c := spec.Clients[0]
		row := rec.Streams[c.Will.Stream]
		if !row.Will || row.Producer != c.Process || row.Topic != c.Will.Topic || row.QoS != 1 || c.Will.PayloadBytes != 128 {
			t.Errorf("will %+v of stream %+v", c.Will, row)
		}
		if !history.Matches(plan.subscribers.Clients[0].Subscribe[0].Filter, c.Will.Topic) {
			t.Errorf("no subscriber hears of %s", c.Will.Topic)
		}
		if clean := i == 0; c.Endpoints[0] != p.endpoints[i] || c.Clean != clean || (c.ExpiryS == 0) != clean || c.Subscribe[0].QoS != 0 || rec.Processes[c.Process].Clean != clean {
			t.Errorf("%+v", c)
		}
	}
	if diff := cmp.Diff([][]int32{{1}}, plan.listeners()); diff != "" {
		t.Error("listeners:", diff)
	}
}

// A subscriber with filters of its own is owed the matching messages of QoS 1
// and 2.
func TestPlanOfFiltered(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt3", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{
		Publishers: 1, QoS: []uint8{0, 1}, Topics: []string{"a", "a/b", "b"},
		Subscribers: scenarios.Subscribers{Online: 1, Filtered: [][]string{{"a/#"}, {"b", "+/b"}, {"c"}}},
	})
	owed := map[string][]string{}
	for _, listener := range plan.listeners() {
		name := rec.Processes[listener[0]].Name
		owed[name] = []string{}
		for _, s := range plan.owed(listener) {
			if rec.Streams[s].QoS == 0 {
				t.Errorf("%s is owed a message of QoS 0", name)
			}
			owed[name] = append(owed[name], strings.TrimPrefix(rec.Streams[s].Topic, "rmq/cafe0001/0/load/"))
		}
	}
	want := map[string][]string{"online-1": {"a", "a/b", "b"}, "filtered-1": {"a", "a/b"}, "filtered-2": {"a/b", "b"}, "filtered-3": {}}
	if diff := cmp.Diff(want, owed); diff != "" {
		t.Error(diff)
	}
	if got := rec.Processes[3].Filters; len(got) != 2 || got[1].Filter != "rmq/cafe0001/0/load/+/b" || got[1].QoS != 1 {
		t.Errorf("filters of %s: %v", rec.Processes[3].Name, got)
	}
}

// Each filter of an overlapping subscriber matches every topic of the load.
func TestPlanOfOverlapping(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt3", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{Publishers: 2, Streams: 2, QoS: []uint8{0, 1}, Subscribers: scenarios.Subscribers{Overlapping: 1}})
	filters := plan.subscribers.Clients[0].Subscribe
	if len(filters) != 3 || len(rec.Processes[2].Filters) != 3 {
		t.Fatalf("filters %v, recorded %v", filters, rec.Processes[2].Filters)
	}
	for _, f := range filters {
		for _, s := range rec.Streams {
			if f.QoS != 1 || !history.Matches(f.Filter, s.Topic) {
				t.Errorf("%+v does not take %s at QoS 1", f, s.Topic)
			}
		}
	}
}

// A duplex subscriber has the subscription of others and topics of its own, and its share of the rate.
func TestPlanOfDuplex(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt3", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{Publishers: 2, Streams: 1, QoS: []uint8{2}, Subscribers: scenarios.Subscribers{Online: 1, Duplex: 1}})
	c := plan.subscribers.Clients[1]
	if c.Start != "waiting" || len(c.Subscribe) != 1 || c.Publish == nil || c.Publish.RatePerS != 10 || plan.publishers.Clients[0].Publish.RatePerS != 10 {
		t.Fatalf("%+v", c)
	}
	topics := map[string]bool{}
	for _, s := range rec.Streams {
		topics[s.Topic] = true
	}
	if len(topics) != 3 || len(plan.guaranteed) != 3 || len(plan.listeners()) != 2 {
		t.Errorf("topics %v, guaranteed %v, listeners %v", topics, plan.guaranteed, plan.listeners())
	}
}

// Subscribers hear the whole workload and nothing of the probes, and probes
// hear each other.
func TestPlanTopics(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mqtt3", endpoints: []string{"a:1", "b:1"}, rate: 1}
	plan := p.plan(scenarios.Workload{Publishers: 1, Streams: 1, QoS: []uint8{1}, Subscribers: scenarios.Subscribers{Online: 1}})
	work := plan.publishers.Clients[0].Publish.Streams[0].Topic
	heard := plan.subscribers.Clients[0].Subscribe[0].Filter
	probe, other := p.probe(plan, 0), p.probe(plan, 1)
	for _, test := range []struct {
		filter, topic string
		want          bool
	}{
		{heard, work, true},
		{heard, probe.Publish.Streams[0].Topic, false},
		{probe.Subscribe[0].Filter, other.Publish.Streams[0].Topic, true},
		{probe.Subscribe[0].Filter, work, false},
	} {
		if got := history.Matches(test.filter, test.topic); got != test.want {
			t.Errorf("%s matches %s: %v", test.filter, test.topic, got)
		}
	}
	if len(probe.Endpoints) != 1 || probe.Endpoints[0] != "a:1" || !probe.Clean {
		t.Errorf("a probe speaks to its own node alone, on a clean session: %+v", probe)
	}
}

// With mq9, publishers may share mailboxes, at several priorities. A mailbox
// that does not last has a publisher of its own, is looked at first, and is
// owed to nobody.
func TestPlanOfMQ9(t *testing.T) {
	rec := &fakeTables{}
	p := &planner{rec: rec, run: "cafe0001", protocol: "mq9", endpoints: []string{"a:1"}, rate: 30}
	plan := p.plan(scenarios.Workload{
		Publishers: 2, Streams: 2, QoS: []uint8{1}, Mailboxes: 3, Priorities: []string{"critical", "normal"},
		Subscribers: scenarios.Subscribers{Online: 1}, Brief: scenarios.Brief{Mailboxes: 2, RatePerS: 5, MailboxTTLS: 9},
	})
	var filters []string
	for _, f := range plan.subscribers.Clients[0].Subscribe {
		filters = append(filters, f.Filter)
		if lasts := len(filters) > 2; lasts != (f.TTLS == 0) {
			t.Errorf("%+v: the first two mailboxes do not last, and only they", f)
		}
	}
	if diff := cmp.Diff([]string{
		"rmq.cafe0001.0.brief.1", "rmq.cafe0001.0.brief.2",
		"rmq.cafe0001.0.load.1", "rmq.cafe0001.0.load.2", "rmq.cafe0001.0.load.3",
	}, filters); diff != "" {
		t.Error("mailboxes:", diff)
	}
	for _, c := range plan.publishers.Clients {
		brief := c.Process >= 2
		for _, s := range c.Publish.Streams {
			row := rec.Streams[s.Stream]
			if s.Unmarked != brief || (row.MailboxTTLS == 9) != brief || (s.Priority == "") != brief || row.Priority != s.Priority {
				t.Errorf("stream %+v, recorded as %+v", s, row)
			}
		}
	}
	if len(rec.Streams) != 10 || len(plan.guaranteed) != 8 {
		t.Errorf("%d streams, %d owed; want 2 publishers x 2 streams x 2 priorities, and 2 that do not last", len(rec.Streams), len(plan.guaranteed))
	}
}

// No node is without clients, or without subscribers, where there are as many.
func TestClientsAreSpread(t *testing.T) {
	library, err := scenarios.Library()
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range library {
		rec := &fakeTables{}
		p := &planner{rec: rec, run: "cafe0001", protocol: s.Protocol, endpoints: []string{"a:1", "b:1", "c:1"}, rate: 30}
		plan := p.plan(s.Workload)
		all, listen := map[string]bool{}, map[string]bool{}
		subscribers := plan.subscribers.Clients
		for _, w := range plan.wills {
			subscribers = append(subscribers, w.Clients...)
		}
		for _, c := range subscribers {
			all[c.Endpoints[0]], listen[c.Endpoints[0]] = true, true
		}
		for _, c := range plan.publishers.Clients {
			all[c.Endpoints[0]] = true
		}
		want := 3
		if s.Name == "mq9/send-then-destroy" { // its offline subscriber and the second that is paused are at one node
			want = 2
		}
		if len(listen) < min(want, len(subscribers)) || len(all) < min(3, len(rec.Processes)) {
			t.Errorf("%s: of three nodes %d have a subscriber and %d a client", s.Name, len(listen), len(all))
		}
	}
}
