package experiment

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/figures"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A session is one workload with its drivers, from connecting to drained.
type session struct {
	load      *load
	number    int
	name      string // of the scenario whose workload it is
	sdk       clients.SDK
	protocol  string
	transport string
	rate      float64
	lasts     time.Duration // of the traffic, while exploring by hand
	claims    []string      // likewise: of the scenario, those that can be judged
	expiryS   float64       // likewise, of its tier
	plan      *plan
	pubs      side
	subs      side
	wills     []driver  // of clients with a will, one each
	until     time.Time // when the wait of its drain is over if nothing is delivered; of live.mu
	then      string    // what follows; of live.mu
	state     string
	err       error
}

// States of a session, as people and agents read them. One that did not come up failed.
const (
	stateRunning  = "running"
	stateDraining = "draining"
	stateDone     = "done"
	stateFailed   = "failed"
)

// Bounds on what a healthy cluster does in a moment.
const (
	connectBound = 45 * time.Second
	filterBound  = 500 * time.Millisecond // more, for each filter of a client that has many
	loadBound    = 30 * time.Second
	endBound     = 90 * time.Second // longer than a driver has to say bye
	finishBound  = 2*ackWaitMS*time.Millisecond + slack

	// RobustMQ sends four times, 5 s apart, before it gives up a message, and
	// nothing to other clients meanwhile.
	quietFor = 30 * time.Second
	// releaseSlack has a drain wait for PUBREL longer than the judge allows a broker.
	releaseSlack = 10 * time.Second
	slack        = 5 * time.Second
)

// begin provisions the SDK, starts the subscribers, brings each group into
// its place, and starts the publishers.
func (l *load) begin(ctx context.Context, s *session, w scenarios.Workload) error {
	cmd, err := clients.Provision(ctx, CacheDir(l.env.StateDir), l.env.Self, s.sdk, l.say)
	if err != nil {
		return fmt.Errorf("prepare the driver of %s: %w", s.sdk, err)
	}
	s.plan = l.planner(s).plan(w)
	if len(s.plan.subscribers.Clients) > 0 {
		if s.subs, err = l.muster(ctx, fmt.Sprintf("subscribers-%d", s.number), cmd, s.plan.subscribers); err != nil {
			return err
		}
		if err := errors.Join(s.tell(history.GroupDuplex, "pause"), s.tell(history.GroupDuplex, "connect")); err != nil {
			return err
		}
		if err := s.subscribe(ctx); err != nil {
			return err
		}
		go s.resubscribe(s.subs.Done(), s.subs.Do)
	}
	if err := s.startWills(ctx, cmd); err != nil {
		return err
	}
	if s.pubs, err = l.muster(ctx, fmt.Sprintf("publishers-%d", s.number), cmd, s.plan.publishers); err != nil {
		return err
	}
	if err := s.pubs.Do(contract.Command{Do: "connect", Process: contract.All}); err != nil {
		return err
	}
	return s.tell(history.GroupDuplex, "resume")
}

// tell commands the subscribers of a group.
func (s *session) tell(group, command string) error {
	for _, i := range s.plan.groups[group] {
		if err := s.subs.Do(contract.Command{Do: command, Process: i}); err != nil {
			return fmt.Errorf("%s %s subscribers of %s: %w", command, group, s.name, err)
		}
	}
	return nil
}

// subscribe waits until every subscriber has subscribed, then sends the offline
// ones away and pauses the paused ones.
func (s *session) subscribe(ctx context.Context) error {
	l := s.load.live
	everyone := s.plan.subscribers.Clients
	bound := connectBound
	for _, c := range everyone {
		bound = max(bound, connectBound+time.Duration(len(c.Subscribe))*filterBound)
	}
	seated, refused, unmet := false, "", ""
	l.wait(ctx, bound, func() bool {
		seated, refused, unmet = true, "", ""
		for _, c := range everyone {
			p := l.process(c.Process)
			seated, refused = seated && p.subscribed >= len(c.Subscribe), cmp.Or(refused, p.refused)
			if !p.connected {
				unmet = cmp.Or(unmet, p.unmet)
			}
		}
		return seated || refused != ""
	})
	switch {
	case refused != "" && slices.Contains(s.sdk.Cannot, contract.CannotProtocol):
		return fmt.Errorf("subscribers of %s: %s speaks an earlier version of %s, and could not subscribe: %s", s.name, s.sdk, s.protocol, refused)
	case refused != "":
		return fmt.Errorf("subscribers of %s: %s could not subscribe: %s", s.name, s.sdk, refused)
	case !seated && unmet != "" && s.greeted(ctx):
		return keptOut{fmt.Errorf("subscribers of %s: not all %d had subscribed within %s; the nodes let rmq-mcp in, and not %s: %s", s.name, len(everyone), bound, s.sdk, unmet)}
	case !seated && unmet != "":
		return fmt.Errorf("subscribers of %s: not all %d had subscribed within %s; neither %s nor rmq-mcp itself could connect: %s", s.name, len(everyone), bound, s.sdk, unmet)
	case !seated:
		return fmt.Errorf("subscribers of %s: not all %d had subscribed within %s; see logs/ of the run for what the broker answered", s.name, len(everyone), bound)
	}
	away := slices.Concat(s.plan.groups[history.GroupOffline], s.plan.groups[history.GroupExpiring])
	if err := errors.Join(s.tell(history.GroupOffline, "disconnect"), s.tell(history.GroupExpiring, "disconnect"), s.tell(history.GroupPaused, "pause")); err != nil {
		return err
	}
	if !l.wait(ctx, connectBound, l.all(away, func(p *liveProcess) bool { return !p.connected })) {
		return fmt.Errorf("offline subscribers of %s did not disconnect within %s", s.name, connectBound)
	}
	return nil
}

// resubscribe has subscribers connect anew whose last SUBSCRIBE was refused, or not
// replied to in time, as an application would: a cluster without a leader refuses one that
// it takes a moment later. It ends with the drain, which waits for calm, and with their
// driver.
func (s *session) resubscribe(over <-chan struct{}, tell func(contract.Command) error) {
	var staying []int32
	for _, c := range s.plan.subscribers.Clients {
		if !slices.ContainsFunc(leaving, func(group string) bool { return slices.Contains(s.plan.groups[group], c.Process) }) {
			staying = append(staying, c.Process)
		}
	}
	for {
		select {
		case <-over:
			return
		case <-time.After(subscribeAgain):
		}
		if !s.load.isRunning(s) {
			return
		}
		for _, i := range s.load.live.unheard(staying) {
			_ = tell(contract.Command{Do: "reconnect", Process: i}) // fails where the driver is over
		}
	}
}

// leaving are the groups whose members are told when to be connected, or do not read.
var leaving = []string{history.GroupOffline, history.GroupExpiring, history.GroupVisiting, history.GroupPaused}

// subscribeAgain is the pause before a subscriber that could not subscribe tries again.
const subscribeAgain = 2 * time.Second

// keptOut is the error of clients that a broker does not let in, though it lets in
// others: that is for the judge, and no failure of the harness.
type keptOut struct{ error }

// greeted has the harness connect to each node as the clients of the session
// do, and reports whether any let it in. The nodes' answers are recorded.
func (s *session) greeted(ctx context.Context) (let bool) {
	l := s.load
	for i, address := range l.system.reach(s.protocol, s.transport) {
		if ctx.Err() != nil || address == "" {
			continue
		}
		ev := harnessEvent(l.clock.Now(), history.KindConnect, "")
		ev.Edge, ev.Node = history.Call, int16(i)
		call := l.rec.Record(ev)
		said, err := l.system.greet(ctx, s.protocol, s.transport, address)
		ev.Time, ev.Edge, ev.Call, ev.Outcome, ev.Text = l.clock.Now(), history.Return, call, history.OK, said
		if err != nil {
			ev.Outcome, ev.Text = history.Fail, err.Error()
		}
		l.rec.Record(ev)
		let = let || err == nil
	}
	return let
}

// gateOpens is the part of the rate that opens the load gate.
const gateOpens = 0.8

// loaded is the load gate: publishes are acknowledged at most of the rate that
// was asked for. Where it stays closed, somebody may have been kept out.
func (s *session) loaded(ctx context.Context) bool {
	l := s.load.live
	open := l.wait(ctx, loadBound, func() bool {
		return l.publishes.perSecond(s.load.clock.Now()) >= gateOpens*s.rate
	})
	if !open && !l.wait(ctx, 0, l.all(s.plan.groups[history.GroupPublisher], func(p *liveProcess) bool { return p.connected })) {
		s.greeted(ctx)
	}
	return open
}

// drain ends the publishers with a marker on each stream, brings every
// subscriber back, waits for what is still to come, PUBRELs included, and ends the subscribers.
func (s *session) drain(ctx context.Context, bound time.Duration) {
	s.load.settle(s, stateDraining, nil)
	defer s.load.settle(s, stateDone, nil)
	if s.plan == nil { // its driver could not be prepared, or nobody waited for that
		return
	}
	if !s.load.system.lost() {
		s.endWills(ctx)
	}
	if s.pubs != nil {
		s.end(ctx, s.pubs, "publishers")
	}
	if s.subs == nil || s.subs.Shot() { // by a fault: nobody is left to wait for
		return
	}
	if s.load.rec.Err() != nil || s.load.system.lost() { // what arrives is not recorded any more, or tells nothing
		s.end(ctx, s.subs, "subscribers")
		return
	}
	s.finish(ctx)
	for _, group := range []struct{ name, command string }{{history.GroupPaused, "resume"}, {history.GroupOffline, "connect"}, {history.GroupExpiring, "connect"}, {history.GroupVisiting, "connect"}, {history.GroupDuplex, "resume"}} {
		if err := s.tell(group.name, group.command); err != nil {
			s.load.harness("drain: %v", err)
		}
	}
	l := s.load.live
	if !l.wait(ctx, connectBound, l.all(s.plan.groups[history.GroupExpiring], func(p *liveProcess) bool { return p.connected })) { // nobody waits for what they get
		s.load.say(fmt.Sprintf("drain: not everybody whose session is over had connected within %s", connectBound))
	}
	s.await(ctx, bound)
	s.awaitReleases(ctx)
	s.end(ctx, s.subs, "subscribers")
	s.askStorage(ctx)
}

// finish ends the publishing of duplex subscribers with a marker on each stream, as publishers end.
func (s *session) finish(ctx context.Context) {
	l, duplex := s.load.live, s.plan.groups[history.GroupDuplex]
	if len(duplex) == 0 {
		return
	}
	if err := s.tell(history.GroupDuplex, "finish"); err != nil {
		s.load.harness("drain: %v", err)
	}
	streams := streamsOf(s.plan.subscribers.Clients)
	if !l.wait(ctx, finishBound, func() bool {
		return !slices.ContainsFunc(streams, func(c contract.Stream) bool { return !l.stream(c.Stream).ended })
	}) {
		s.load.say(fmt.Sprintf("drain: the end markers of duplex subscribers were not all acknowledged within %s", finishBound))
	}
}

// await waits until every subscriber has every acknowledged message. If one is
// missing and nothing is delivered any more, the subscribers that lack messages
// connect anew. A broker need not resend unacknowledged messages on the same
// connection (MQTT 5.0 section 4.4), and messages that wait in an idle session
// are not lost. Then await waits for longer than any broker takes to redeliver
// unacknowledged messages. The bound limits how long deliveries may go on. The
// last deliveries get their time.
func (s *session) await(ctx context.Context, bound time.Duration) {
	stallFor := stallBound(s.load.tier)
	ctx, cancel := context.WithTimeout(ctx, bound+stallFor+quietFor)
	defer cancel()
	s.follows("they reconnect")
	complete, quiet := s.quiet(ctx, stallFor)
	if lacking := s.lacking(); quiet && !complete && len(lacking) > 0 {
		s.load.say(fmt.Sprintf("%d subscribers lack acknowledged messages, and nothing is delivered: they reconnect", len(lacking)))
		s.anew(ctx, lacking)
		s.follows("it gives up")
		complete, quiet = s.quiet(ctx, quietFor)
	}
	switch {
	case complete:
	case quiet:
		s.load.say(fmt.Sprintf("acknowledged messages are missing, and nothing was delivered for %s", quietFor))
	default:
		s.load.say(fmt.Sprintf("acknowledged messages are missing after %s", bound))
	}
}

// awaitReleases waits until the broker has released every message of QoS 2 that a client answered
// by PUBREC before it came back. The client's application may have the message already, so that
// nothing else waits for PUBREL.
func (s *session) awaitReleases(ctx context.Context) {
	processes := slices.Concat(s.plan.listeners()...)
	ctx, cancel := context.WithTimeout(ctx, stallBound(s.load.tier)+releaseSlack)
	defer cancel()
	for said := false; ctx.Err() == nil; hold(ctx, 100*time.Millisecond) {
		n := s.load.system.unreleased(processes)
		if n == 0 {
			return
		}
		if !said {
			s.load.say(fmt.Sprintf("drain: clients answered %d messages of QoS 2 by PUBREC before they came back, and wait for PUBREL", n))
			said = true
		}
	}
}

// follows says what a drain does when its wait is over.
func (s *session) follows(then string) {
	s.load.live.mu.Lock()
	defer s.load.live.mu.Unlock()
	s.then = then
}

// quiet waits until every subscriber has what it is owed, or nothing was delivered to
// one for a time. Neither means that ctx is over. Other workloads may go on meanwhile.
func (s *session) quiet(ctx context.Context, d time.Duration) (complete, quiet bool) {
	l := s.load.live
	defer func() {
		l.mu.Lock()
		s.until = time.Time{}
		l.mu.Unlock()
	}()
	for ctx.Err() == nil {
		l.mu.Lock()
		before := s.activity()
		s.until = time.Now().Add(d)
		l.mu.Unlock()
		l.wait(ctx, d, func() bool { return s.complete() || s.activity() > before })
		l.mu.Lock()
		complete, quiet = s.complete(), s.activity() == before
		l.mu.Unlock()
		if complete || quiet && ctx.Err() == nil {
			return complete, quiet
		}
	}
	return false, false
}

// activity counts the deliveries to those who are owed messages, and their connections made
// and lost.
func (s *session) activity() (n int64) {
	for _, listener := range s.plan.listeners() {
		for _, i := range listener {
			n += s.load.live.process(i).activity
		}
	}
	return n
}

// anew has clients end their connections and connect again, to the sessions that they
// have.
func (s *session) anew(ctx context.Context, processes []int32) {
	l := s.load.live
	for _, command := range []string{"disconnect", "connect"} {
		for _, i := range processes {
			if err := s.subs.Do(contract.Command{Do: command, Process: i}); err != nil {
				s.load.harness("drain of %s: %s: %v", s.name, command, err)
			}
		}
		if !l.wait(ctx, connectBound, l.all(processes, func(p *liveProcess) bool { return p.connected == (command == "connect") })) {
			s.load.say(fmt.Sprintf("drain: not everybody who lacks messages could %s within %s", command, connectBound))
		}
	}
}

// complete reports whether every subscriber, or shared subscription, has every
// acknowledged message of QoS 1 and 2 that it is owed, the end markers among them.
func (s *session) complete() bool {
	return !slices.ContainsFunc(s.plan.listeners(), s.lacks)
}

// lacks reports whether a listener has not all that it is owed.
func (s *session) lacks(listener []int32) bool {
	return slices.ContainsFunc(s.plan.owed(listener), func(stream int32) bool {
		return s.load.live.stream(stream).acked.missing(s.had(listener, stream)...) > 0
	})
}

// waits names the deliveries that a drain waits for, and the next step; "" for none.
func (s *session) waits() string {
	l := s.load.live
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.until.IsZero() {
		return ""
	}
	subscribers, missing := 0, 0
	for _, listener := range s.plan.listeners() {
		lacks := 0
		for _, stream := range s.plan.owed(listener) {
			lacks += l.stream(stream).acked.missing(s.had(listener, stream)...)
		}
		if lacks > 0 {
			subscribers, missing = subscribers+1, missing+lacks
		}
	}
	if missing == 0 {
		return ""
	}
	return figures.Sprintf("%d subscribers lack %d deliveries; if none arrives, %s in %.0f s", subscribers, missing, s.then, max(0, time.Until(s.until).Seconds()))
}

// had is what each process of a listener has of a stream.
func (s *session) had(listener []int32, stream int32) (had []*set) {
	for _, i := range listener {
		had = append(had, s.load.live.process(i).stream(stream))
	}
	return had
}

// lacking are the processes that lack what they are owed. A message that no member of a shared
// subscription has may be in the session of any.
func (s *session) lacking() (processes []int32) {
	s.load.live.mu.Lock()
	defer s.load.live.mu.Unlock()
	for _, listener := range s.plan.listeners() {
		if s.lacks(listener) {
			processes = append(processes, listener...)
		}
	}
	slices.Sort(processes)
	return slices.Compact(processes)
}

// end tells a driver to end and waits for its last line. One that does not is
// killed, and its own error says so in the record.
func (s *session) end(ctx context.Context, d side, who string) {
	if err := d.Do(contract.Command{Do: "end", Process: contract.All}); err != nil {
		s.load.say(fmt.Sprintf("end %s: %v", who, err))
	}
	select {
	case <-d.Done():
	case <-time.After(endBound + ackWaitMS*time.Millisecond):
	case <-ctx.Done():
	}
	d.Close()
	if err := d.Err(); err != nil && !d.Shot() { // what a fault killed broke nothing
		s.load.harness("driver of the %s: %v", who, err)
	}
}

// abandon ends the drivers of a workload that did not come up. When it returns,
// everything that they said before is recorded, and nothing is recorded after.
func (s *session) abandon() {
	all := []side{s.subs, s.pubs}
	for _, d := range s.wills {
		all = append(all, d)
	}
	for _, d := range all {
		if d != nil {
			d.Close()
			<-d.Done()
		}
	}
}

// drive starts one driver of the load.
func (l *load) drive(ctx context.Context, name string, cmd clients.Program, spec contract.Spec) (driver, error) {
	d, err := l.system.drive(ctx, name, cmd, spec)
	if err == nil {
		l.drives(name, d, spec)
	}
	return d, err
}

// probes publishes and receives through every node, on fresh connections, and
// waits until each has done both.
func (l *load) probes(ctx context.Context, s *session, bound time.Duration) error {
	// Our own client, in which no library's defects are; of mq9 the run's library, as
	// brokers greet NATS clients in ways that not every one bears.
	sdk := s.sdk
	if s.protocol != contract.MQ9 {
		var err error
		if sdk, err = clients.ResolveFor("go/rmq-mcp", s.protocol); err != nil {
			return err
		}
	}
	cmd, err := clients.Provision(ctx, CacheDir(l.env.StateDir), l.env.Self, sdk, l.say)
	if err != nil {
		return err
	}
	p := l.planner(s)
	p.sdk = sdk.String()
	spec, out := p.spec(), &plan{groups: map[string][]int32{}}
	for i := range p.endpoints {
		spec.Clients = append(spec.Clients, p.probe(out, i))
	}
	d, err := l.drive(ctx, fmt.Sprintf("probe-%d", s.number), cmd, spec)
	if err != nil {
		return err
	}
	ok := l.live.served(ctx, bound, out.groups[history.GroupProbe], out.streams, func(i int32) {
		if err := d.Do(contract.Command{Do: "reconnect", Process: i}); err != nil {
			l.say(fmt.Sprintf("recovery: subscribe again: %v", err))
		}
	})
	if !ok {
		l.say(fmt.Sprintf("recovery: not every node had published and delivered within %s of the heal", bound))
	}
	s.end(ctx, d, "probes")
	return nil
}

// status of the session for people and agents.
func (s *session) status(counts keeper.Counts) keeper.ClientStatus {
	st := keeper.ClientStatus{Number: s.number, Workload: s.name, SDK: s.sdk.String(), State: s.state, Counts: counts}
	if s.err != nil {
		st.Error = s.err.Error()
	}
	return st
}
