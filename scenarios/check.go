package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/router"
	"github.com/robustmq/rmq-mcp/internal/mqttpacket"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// Bounds on one scenario. Judging keeps a place for every pair of process and
// stream.
const (
	maxProcesses = 2_000
	maxStreams   = 10_000
	maxPairs     = 2_000_000
)

var (
	nameForm = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*(/[a-z0-9]+(-[a-z0-9]+)*)*$`)
	nodeName = regexp.MustCompile(`node-([0-9]+)`)
	nodeForm = regexp.MustCompile(`^node-[1-9][0-9]*$`)
	kinds    = [...]string{"basic", "fault", "client", "composite"}
)

// problems collects all that is wrong, so that it is said at once.
type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (s *Scenario) check() error {
	var bad problems
	if !nameForm.MatchString(s.Name) {
		bad.add("name %q: lower case letters, digits and hyphens, with / between parts, as in mqtt/broker-kill-9", s.Name)
	}
	if s.Title == "" {
		bad.add("title is required")
	}
	if !slices.Contains(contract.Protocols(), s.Protocol) {
		bad.add("protocol %q: valid are %s", s.Protocol, strings.Join(contract.Protocols(), ", "))
	}
	if s.Protocol == contract.MQ9 && (s.Workload.Registers > 0 || !slices.Equal(s.Workload.QoS, []uint8{1})) {
		bad.add("workload: mq9 has no registers and one way to deliver; leave registers out and write qos: [1]")
	}
	if expiring := s.Workload.Subscribers.Expiring > 0; expiring != (s.Workload.SessionExpiryS > 0) || expiring && s.Protocol != contract.MQTT5 {
		bad.add("workload: expiring subscribers need session_expiry_s, which needs them, and protocol mqtt5")
	}
	if visits := s.Workload.Subscribers.Visiting > 0; visits != (s.Workload.VisitS > 0) {
		bad.add("workload: visiting subscribers need visit_s, which needs them")
	}
	if sub := s.Workload.Subscribers; s.Protocol == contract.MQ9 && (sub.Overlapping > 0 || len(sub.Filtered) > 0 || len(s.Workload.Topics) > 0) {
		bad.add("workload: mq9 has no filters, and so no topics and no overlapping subscriptions; leave topics, overlapping and filtered out")
	}
	if s.Protocol == contract.MQ9 && s.Workload.Wills+s.Workload.Subscribers.Duplex > 0 {
		bad.add("workload: wills and duplex subscribers are of MQTT; leave wills and duplex out")
	}
	if !slices.Contains(kinds[:], s.Kind) {
		bad.add("kind %q: valid are %s", s.Kind, strings.Join(kinds[:], ", "))
	}
	s.Workload.check(&bad)
	s.Workload.checkMQ9(&bad, s.Protocol)
	for i, step := range s.Schedule {
		step.check(&bad, i+1)
	}
	for _, claim := range s.Claims {
		if e, err := checker.Find(claim); err != nil {
			bad.add("claims: %w", err)
		} else if !slices.Contains(e.Protocols, s.Protocol) {
			bad.add("claims: %s is a claim of %s, not of %s", claim, strings.Join(e.Protocols, ", "), s.Protocol)
		}
	}
	for _, claim := range sortedKeys(s.NotClaimed) {
		if _, err := checker.Find(claim); err != nil {
			bad.add("not_claimed: %w", err)
		} else if slices.Contains(s.Claims, claim) {
			bad.add("not_claimed: %s is among the claims; leave one of them out", claim)
		} else if strings.TrimSpace(s.NotClaimed[claim]) == "" {
			bad.add("not_claimed: say why %s is not, as a person is to read it", claim)
		}
	}
	for _, name := range sortedKeys(s.Reaches) {
		valid := checker.Reachable(s.Protocol, true)
		if !slices.Contains(valid, name) {
			bad.add("reaches: no situation %q%s", name, near.Hint(name, valid, "; valid: "+strings.Join(valid, ", ")))
		} else if s.Reaches[name] < 1 {
			bad.add("reaches: %s: %d; valid: a number from 1", name, s.Reaches[name])
		}
	}
	repeats := slices.ContainsFunc(s.Schedule, func(step Step) bool { return step.Fault == "packet_duplicate" })
	if repeats && slices.Contains(s.Claims, "qos1-dup-flag") {
		bad.add("claims: qos1-dup-flag cannot be judged while packet_duplicate makes one message two to the broker; leave one of them out")
	}
	if sub := s.Workload.Subscribers; sub.Offline+sub.Paused+sub.Expiring > 0 && slices.Contains(s.Claims, "steady-resources") {
		bad.add("claims: steady-resources cannot be judged while a broker keeps more and more for subscribers who are offline, paused or expiring; leave it or them out")
	}
	if len(s.Claims) == 0 {
		bad.add("claims: at least one is required, a run without claims judges nothing")
	}
	if _, ok := s.Tiers["smoke"]; !ok {
		bad.add("tiers: smoke is required")
	}
	for _, name := range sortedKeys(s.Tiers) {
		t := s.Tiers[name]
		g := t.Growth
		if min(t.SteadyS, t.FaultS, t.AfterS, t.DrainS, t.RecoveryS, t.ProgressS, t.ExpiryS, float64(t.Messages), float64(t.Rounds), g.MemoryMiB, g.Descriptors, g.Connections, g.LatencyPercent) < 0 {
			bad.add("tiers: %s: no value may be below 0", name)
		} else if f := t.Fair; f != (history.Fair{}) && (f.Times < 1 || f.FloorS <= 0 || f.Share <= 0 || f.Share > 1 || f.Messages < 1) {
			bad.add("tiers: %s: fair needs times (at least 1), floor_s (above 0), share (above 0, at most 1) and messages (at least 1)", name)
		} else if f == (history.Fair{}) && slices.Contains(s.Claims, "fair") {
			bad.add("tiers: %s: the claim fair needs its bounds; write fair: {times: 10, floor_s: 5, share: 0.5, messages: 100}", name)
		}
		if slices.Contains(s.Claims, "steady-resources") && min(g.MemoryMiB, g.Descriptors, g.Connections) == 0 {
			bad.add("tiers: %s: steady-resources needs growth, with memory_mib_per_h, descriptors_per_h and connections_per_h above 0; latency_percent_per_h where the tier is long enough to tell", name)
		}
	}
	return errors.Join(bad...)
}

// largestPayload leaves room for the topic and the properties of a message.
const largestPayload = mqttpacket.MaxPacket - 1<<20

func (w *Workload) check(bad *problems) {
	for _, required := range []struct {
		field string
		given bool
	}{
		{"publishers", w.Publishers > 0}, {"streams (or registers, or topics)", w.Streams > 0 || w.Registers > 0 || len(w.Topics) > 0}, {"qos", len(w.QoS) > 0},
		{"rate_per_s", w.RatePerS > 0}, {"max_inflight", w.MaxInflight > 0},
	} {
		if !required.given {
			bad.add("workload: %s is required and above 0", required.field)
		}
	}
	for _, q := range w.QoS {
		if q > 2 {
			bad.add("workload: qos %d: valid are 0, 1, 2", q)
		}
	}
	if w.Registers > 0 && slices.Contains(w.QoS, 0) {
		bad.add("workload: registers with qos 0: a client is not told when such a write took effect, so no read of it can be judged; write qos: [1] or [2], or leave registers out")
	}
	if w.PayloadBytes < contract.HeaderLen {
		bad.add("workload: payload_bytes %d: at least %d, the size of the header with the message's identity", w.PayloadBytes, contract.HeaderLen)
	}
	if w.PayloadBytes > largestPayload {
		bad.add("workload: payload_bytes %d: at most %d, as clients read no message above 8 MiB", w.PayloadBytes, largestPayload)
	}
	sub := w.Subscribers
	if min(w.Wills, w.Streams, w.Registers, w.SlowMS, sub.Online, sub.Offline, sub.Paused, sub.Slow, sub.Readers, sub.Overlapping, sub.Expiring, sub.Visiting, sub.Duplex, w.SessionExpiryS, sub.Shared.Groups, sub.Shared.Members) < 0 || w.VisitS < 0 {
		bad.add("workload: no value may be below 0")
	}
	if (sub.Shared.Groups == 0) != (sub.Shared.Members == 0) {
		bad.add("workload: shared needs groups, and members of each; leave both out for none")
	}
	processes := w.Publishers + w.Wills + w.Brief.Mailboxes + sub.Online + sub.Offline + sub.Paused + sub.Slow + sub.Readers + sub.Overlapping + len(sub.Filtered) + sub.Expiring + sub.Visiting + sub.Duplex + sub.Shared.Groups*sub.Shared.Members
	streams := w.Producers()*(w.Streams+len(w.Topics)+w.Registers)*len(w.QoS)*max(len(w.Priorities), 1) + w.Brief.Mailboxes + w.Wills
	if processes > maxProcesses || streams > maxStreams || processes*streams > maxPairs {
		bad.add("workload: %d clients and %d streams are too much for one run: at most %d, %d, and %d of one times the other", processes, streams, maxProcesses, maxStreams, maxPairs)
	}
	w.checkTopics(bad)
}

// Matches reports whether one of the filters matches one of the topics.
func (w *Workload) Matches(filters []string) bool {
	return slices.ContainsFunc(filters, func(f string) bool {
		return slices.ContainsFunc(w.Topics, func(topic string) bool { return history.Matches(f, topic) })
	})
}

// checkTopics looks at topics and filters as MQTT 3.1.1 section 4.7 has them.
func (w *Workload) checkTopics(bad *problems) {
	for i, topic := range w.Topics {
		if topic == "" || strings.ContainsAny(topic, "#+\x00") || slices.Contains(w.Topics[:i], topic) {
			bad.add("workload: topics: %q; each is given once, is not empty and has no + or #", topic)
		}
	}
	for i, filters := range w.Subscribers.Filtered {
		for _, f := range filters {
			levels := strings.Split(f, "/")
			for n, level := range levels {
				if level != "+" && strings.Contains(level, "+") || strings.Contains(level, "#") && (level != "#" || n != len(levels)-1) {
					bad.add("workload: filtered: %q; + is a level of its own, and # the last one", f)
					break
				}
			}
		}
		if !w.Matches(filters) {
			bad.add("workload: filtered: %q matches none of the topics; write topics, and filters below load/", filters)
		}
		if slices.Contains(filters, "") {
			bad.add("workload: filtered: client %d has an empty filter", i+1)
		}
	}
}

func (w *Workload) checkMQ9(bad *problems, protocol string) {
	given := w.Mailboxes != 0 || len(w.Priorities) > 0 || w.Brief != Brief{}
	if given && protocol != contract.MQ9 {
		bad.add("workload: mailboxes, priorities and brief are of mq9; leave them out of a scenario of %s", protocol)
	}
	for i, p := range w.Priorities {
		if !slices.Contains([]string{"critical", "urgent", "normal"}, p) || slices.Contains(w.Priorities[:i], p) {
			bad.add("workload: priorities %q: valid are critical, urgent, normal, each once", w.Priorities)
			break
		}
	}
	b := w.Brief
	switch {
	case min(w.Mailboxes, b.Mailboxes, b.MailboxTTLS, b.MessageTTLS) < 0 || b.RatePerS < 0:
		bad.add("workload: no value may be below 0")
	case b != Brief{} && (b.Mailboxes == 0 || b.RatePerS == 0 || (b.MailboxTTLS == 0) == (b.MessageTTLS == 0)):
		bad.add("workload: brief needs mailboxes, rate_per_s, and one of mailbox_ttl_s and message_ttl_s")
	}
}

func (step *Step) check(bad *problems, n int) {
	if _, err := faults.Parse(step.Fault, step.Params); err != nil {
		bad.add("schedule step %d: %w", n, err)
	}
	if err := step.checkTarget(); err != nil {
		bad.add("schedule step %d: %w", n, err)
	}
	if min(step.AtS, step.DurationS) < 0 {
		bad.add("schedule step %d: no time may be below 0", n)
	}
}

// checkTarget looks at the form of a target; who it is, is known when it is
// injected.
func (step *Step) checkTarget() error {
	if err := faults.CheckTarget(step.Fault, step.Target); err != nil {
		return err
	}
	if _, ok := history.ClientTarget(step.Target); ok {
		return nil
	}
	roles := cluster.Roles()
	sides := []string{step.Target}
	if near, far, _, link := faults.SplitLink(step.Target); link {
		sides, roles = []string{near, far}, append(roles, router.Clients)
	}
	for _, side := range sides {
		if !slices.Contains(roles, side) && !nodeForm.MatchString(side) {
			return fmt.Errorf("target %q: valid are %s, node-1 and so on, and for faults on links A~B (both ways) and A>B (one way), of these and clients; for faults on clients: clients, publishers, subscribers, client:NAME", step.Target, strings.Join(cluster.Roles(), ", "))
		}
	}
	return nil
}

// AmongClients reports whether a fault is about the network between nodes and clients.
func (s *Scenario) AmongClients() bool {
	return slices.ContainsFunc(s.Schedule, func(step Step) bool {
		k, ok := step.kind()
		return ok && k.AmongClients(step.Target, step.Params)
	})
}

// Fits refuses a schedule with a node that a cluster of known size does not have, or with a fault that
// is not for nodes made of an image.
func (s *Scenario) Fits(c cluster.Config) error {
	for i, step := range s.Schedule {
		for _, name := range nodeName.FindAllStringSubmatch(step.Target, -1) {
			if n, err := strconv.Atoi(name[1]); c.Nodes > 0 && (err != nil || n > c.Nodes) {
				return fmt.Errorf("scenario %s: schedule step %d: target %q: the cluster has %d nodes, node-1 and on", s.Name, i+1, step.Target, c.Nodes)
			}
		}
		k, ok := step.kind()
		if !ok || !c.Imaged() {
			continue
		}
		if why := k.Imaged(c.Beyond()); why != "" {
			return fmt.Errorf("scenario %s: schedule step %d: %s of %s: %s", s.Name, i+1, step.Fault, step.Target, why)
		}
	}
	return nil
}
