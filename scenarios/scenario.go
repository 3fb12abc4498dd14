// Package scenarios is the document that says what an experiment does, and the
// library of them. A scenario is a Markdown file: its front matter is what the server
// executes and judges by, its prose what an agent reads.
package scenarios

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
	"github.com/robustmq/rmq-mcp/judge/checker"
)

// A Scenario is one experiment, as written down.
type Scenario struct {
	Name     string   `yaml:"name" json:"name"`         // mqtt/broker-kill-9
	Title    string   `yaml:"title" json:"title"`       // one line
	Protocol string   `yaml:"protocol" json:"protocol"` // mqtt3, mqtt5
	Kind     string   `yaml:"kind" json:"kind"`         // basic, fault, client, composite
	Cluster  Cluster  `yaml:"cluster" json:"cluster"`
	SDK      string   `yaml:"sdk" json:"sdk"`
	Workload Workload `yaml:"workload" json:"workload"`
	Schedule []Step   `yaml:"schedule" json:"schedule"`
	Claims   []string `yaml:"claims" json:"claims"` // that it asks; others are judged beside them
	// Claims that nobody is judged by here, and why, by name.
	NotClaimed map[string]string `yaml:"not_claimed" json:"not_claimed,omitempty"`
	// Reaches are situations, by name, and how often a run must come into each to be a pass.
	Reaches map[string]int64    `yaml:"reaches" json:"reaches,omitempty"`
	Tiers   map[string]Tier     `yaml:"tiers" json:"tiers"`     // smoke, hardening, release
	Flavors map[string]Override `yaml:"flavors" json:"flavors"` // what a flavor needs otherwise

	Prose string `yaml:"-" json:"-"`
	Text  string `yaml:"-" json:"-"` // the whole file
	SHA   string `yaml:"-" json:"sha256"`
}

// Cluster is what the scenario asks for where the caller does not.
type Cluster struct {
	Flavor string `yaml:"flavor" json:"flavor"`
	Nodes  int    `yaml:"nodes" json:"nodes"`
}

// A Workload says which operations, at what rate, by how many processes.
type Workload struct {
	Publishers   int         `yaml:"publishers" json:"publishers"`
	Streams      int         `yaml:"streams" json:"streams"`         // topics of each publisher and QoS
	Topics       []string    `yaml:"topics" json:"topics,omitempty"` // that every publisher sends to at every QoS, beside those; below load/
	QoS          []uint8     `yaml:"qos" json:"qos"`
	RatePerS     float64     `yaml:"rate_per_s" json:"rate_per_s"`   // of all publishers and duplex subscribers together
	Spread       bool        `yaml:"spread" json:"spread,omitempty"` // publishers begin one after the other, all within the time between two messages of one; otherwise all at once
	PayloadBytes int         `yaml:"payload_bytes" json:"payload_bytes"`
	MaxInflight  int         `yaml:"max_inflight" json:"max_inflight"` // of each publisher
	Subscribers  Subscribers `yaml:"subscribers" json:"subscribers"`
	SlowMS       int         `yaml:"slow_ms" json:"slow_ms"` // a slow subscriber's time for each message

	SessionExpiryS int     `yaml:"session_expiry_s" json:"session_expiry_s,omitempty"` // of expiring subscribers
	VisitS         float64 `yaml:"visit_s" json:"visit_s,omitempty"`                   // how long a visiting subscriber stays, and then stays away

	// Wills are clients that leave one, each in a process of its own, so that one
	// can be killed: will-1 and so on, the first at the first node. All
	// subscribers hear of it.
	Wills int `yaml:"wills" json:"wills,omitempty"`

	// Registers are topics that every publisher writes retained messages to,
	// one at a time, instead of streams of its own.
	Registers int `yaml:"registers" json:"registers"`

	// Mailboxes are the mq9 mailboxes that all publishers send to in turn; 0:
	// each stream has one of its own. Each stream is sent once at each of the
	// Priorities.
	Mailboxes  int      `yaml:"mailboxes" json:"mailboxes,omitempty"`
	Priorities []string `yaml:"priorities" json:"priorities,omitempty"`
	Brief      Brief    `yaml:"brief" json:"brief,omitzero"`
}

// Brief describes the mq9 mailboxes that do not last. They are beside those of
// the load, each with a publisher of its own. The mailboxes or their messages
// are over after a time.
type Brief struct {
	Mailboxes   int     `yaml:"mailboxes" json:"mailboxes"`
	RatePerS    float64 `yaml:"rate_per_s" json:"rate_per_s"`       // of each
	MailboxTTLS int     `yaml:"mailbox_ttl_s" json:"mailbox_ttl_s"` // from when it is made; 0: it lasts
	MessageTTLS int     `yaml:"message_ttl_s" json:"message_ttl_s"` // from when it is sent; 0: it lasts as the mailbox does
}

// Subscribers count the subscribers of each group. All but live ones keep
// their session, and each but members of shared subscriptions gets every message.
type Subscribers struct {
	Online  int `yaml:"online" json:"online"`   // connected throughout, one node after the other
	Offline int `yaml:"offline" json:"offline"` // subscribed, then away until the drain
	Paused  int `yaml:"paused" json:"paused"`   // connected, reads nothing until the drain
	Slow    int `yaml:"slow" json:"slow"`       // reads slower than is published
	Readers int `yaml:"readers" json:"readers"` // read the registers, each time on a fresh session

	// Expiring are offline until their session is over. They ask for its end
	// after the workload's session_expiry_s. MQTT 5 only.
	Expiring int `yaml:"expiring" json:"expiring,omitempty"`

	// Visiting come and go while the load is steady, one after the other: each
	// stays for the workload's visit_s, and is away for as long.
	Visiting int `yaml:"visiting" json:"visiting,omitempty"`

	// Overlapping are connected throughout, with three filters each of which
	// matches everything.
	Overlapping int `yaml:"overlapping" json:"overlapping,omitempty"`

	// Filtered are connected throughout, each with its own filters, below load/:
	// it gets what they match of the workload's topics, and nothing else.
	Filtered [][]string `yaml:"filtered" json:"filtered,omitempty"`

	// Duplex are connected throughout, and publish on the same connection, as
	// publishers do. MQTT only.
	Duplex int `yaml:"duplex" json:"duplex,omitempty"`

	Shared Shared `yaml:"shared" json:"shared,omitzero"`
}

// Producers counts the clients that publish. They share the workload's rate.
func (w Workload) Producers() int { return w.Publishers + w.Subscribers.Duplex }

// Shared are shared subscriptions, or of mq9 groups of workers that read with one
// group_name. Members are connected throughout: each of the groups gets every message, and
// one of its members each.
type Shared struct {
	Groups  int `yaml:"groups" json:"groups"`
	Members int `yaml:"members" json:"members"` // of each group
}

// A Step is one fault of the schedule.
type Step struct {
	AtS       float64        `yaml:"at_s" json:"at_s"` // after the fault phase began
	Fault     string         `yaml:"fault" json:"fault"`
	Target    string         `yaml:"target" json:"target"`
	DurationS float64        `yaml:"duration_s" json:"duration_s"` // 0: the tier's
	Params    map[string]any `yaml:"params" json:"params,omitempty"`
}

// A Tier is how long and how much. Hardening is more than smoke in every
// dimension, and release more than that.
type Tier struct {
	SteadyS   float64 `yaml:"steady_s" json:"steady_s"`
	FaultS    float64 `yaml:"fault_s" json:"fault_s"`             // each fault, where its step does not say
	AfterS    float64 `yaml:"after_s" json:"after_s"`             // traffic after the heal
	DrainS    float64 `yaml:"drain_s" json:"drain_s"`             // bound
	RecoveryS float64 `yaml:"recovery_s" json:"recovery_s"`       // bound
	ProgressS float64 `yaml:"progress_s" json:"progress_s"`       // longest allowed silence during a fault; 0: not judged
	ExpiryS   float64 `yaml:"expiry_s" json:"expiry_s,omitempty"` // how long after its time to live something may be there; below 1 is 1
	Messages  int64   `yaml:"messages" json:"messages"`           // least that must be acknowledged
	Rounds    int     `yaml:"rounds" json:"rounds"`               // times the schedule is run through; 0 is 1

	Fair   history.Fair   `yaml:"fair" json:"fair,omitzero"`     // how others may be served while a client misbehaves; left out: not judged
	Growth history.Growth `yaml:"growth" json:"growth,omitzero"` // how fast what a node takes may grow in steady_s, for steady-resources
}

// An Override is what a flavor needs otherwise. Times are the least in every tier, so that
// they shorten none. Where its rate does not give the messages that a tier asks for, it takes
// fewer of them, in the same proportion.
type Override struct {
	FaultS    float64 `yaml:"fault_s" json:"fault_s"`
	AfterS    float64 `yaml:"after_s" json:"after_s"`
	DrainS    float64 `yaml:"drain_s" json:"drain_s"`
	RecoveryS float64 `yaml:"recovery_s" json:"recovery_s"`
	ProgressS float64 `yaml:"progress_s" json:"progress_s"`
	ExpiryS   float64 `yaml:"expiry_s" json:"expiry_s,omitempty"`
	RatePerS  float64 `yaml:"rate_per_s" json:"rate_per_s"`
}

// Parse reads a scenario from its text. It checks all that can be checked
// without running it; an error names the field and what is valid.
func Parse(name string, text []byte) (*Scenario, error) {
	front, prose, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("read scenario %s: %w", name, err)
	}
	s := &Scenario{Text: string(text), Prose: string(prose)}
	if err := yamlfile.Decode(front, s); err != nil {
		return nil, fmt.Errorf("read front matter of scenario %s: %w", name, err)
	}
	sum := sha256.Sum256(text)
	s.SHA = hex.EncodeToString(sum[:])
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("scenario %s: %w", name, err)
	}
	return s, nil
}

func split(text []byte) (front, prose []byte, err error) {
	if !bytes.HasPrefix(text, []byte("---\n")) {
		return nil, nil, errors.New(`the first line is not "---": front matter is missing`)
	}
	// The line break stays, so that the decoder counts lines as the file does.
	front, prose, ok := bytes.Cut(text[len("---"):], []byte("\n---\n"))
	if !ok {
		return nil, nil, errors.New(`front matter is not closed by a line "---"`)
	}
	return front, prose, nil
}

// Tier answers the tier of that name as a flavor runs it; "" is smoke.
func (s *Scenario) Tier(name, flavor string) (Tier, error) {
	name = TierName(name)
	t, ok := s.Tiers[name]
	if !ok {
		return Tier{}, fmt.Errorf("scenario %s has no tier %q%s; it has %s", s.Name, name, near.Hint(name, sortedKeys(s.Tiers), ""), strings.Join(sortedKeys(s.Tiers), ", "))
	}
	o := s.Flavors[flavor]
	for _, f := range []struct{ to, from *float64 }{
		{&t.FaultS, &o.FaultS}, {&t.AfterS, &o.AfterS}, {&t.DrainS, &o.DrainS},
		{&t.RecoveryS, &o.RecoveryS}, {&t.ProgressS, &o.ProgressS}, {&t.ExpiryS, &o.ExpiryS},
	} {
		*f.to = max(*f.to, *f.from)
	}
	t.Rounds = max(t.Rounds, 1)
	if rate := s.Rate(flavor); rate < s.Workload.RatePerS && float64(t.Messages) > reachable*rate*t.PublishS(s.Schedule) {
		t.Messages = int64(float64(t.Messages) * rate / s.Workload.RatePerS)
	}
	return t, nil
}

// reachable is the share of what is published that a healthy broker acknowledges under
// faults.
const reachable = 0.8

// TierName returns the name of the tier that a caller means; "" is smoke.
func TierName(name string) string {
	if name == "" {
		return "smoke"
	}
	return name
}

// Planned are the faults that must land in a run of a tier.
func (s *Scenario) Planned(t Tier) (list []history.PlannedFault) {
	for range max(t.Rounds, 1) {
		for _, step := range s.Schedule {
			list = append(list, history.PlannedFault{Type: step.Fault, Target: step.Target, Params: t.Params(step)})
		}
	}
	return list
}

// Budget is the least that a run of a tier must reach to count for it, and the
// bounds that it is judged by.
func (s *Scenario) Budget(t Tier) history.Budget {
	return history.Budget{
		DurationS: t.SteadyS + t.faultTime(s.Schedule), Messages: t.Messages,
		Faults: len(s.Planned(t)), MinRate: 0.5, ProgressS: t.ProgressS, RecoveryS: t.RecoveryS, ExpiryS: t.ExpiryS, Fair: t.Fair, Growth: t.Growth,
	}
}

// Protocols returns the protocols that the scenario can be run with. Both
// versions of MQTT can do everything in an MQTT scenario except the end of
// sessions.
func (s *Scenario) Protocols() []string {
	if s.Protocol == contract.MQ9 {
		return []string{contract.MQ9}
	}
	if s.Workload.Subscribers.Expiring > 0 {
		return []string{contract.MQTT5}
	}
	return []string{contract.MQTT3, contract.MQTT5}
}

// Crashes reports whether the schedule stops nodes or takes their disks: a
// broker of one node that keeps nothing shows no more than that by it.
func (s *Scenario) Crashes() bool {
	return slices.ContainsFunc(s.Schedule, func(step Step) bool {
		return slices.ContainsFunc(faults.Catalog(), func(k faults.Kind) bool {
			return k.Type == step.Fault && slices.Contains([]string{"process", "disk", "cluster"}, k.Family)
		})
	})
}

// Speak takes the caller's protocol in place of the scenario's; "" is that one.
func (s *Scenario) Speak(protocol, flavor string) error {
	if protocol != "" {
		if !slices.Contains(s.Protocols(), protocol) {
			return fmt.Errorf("scenario %s cannot be run with protocol %q; it can with %s", s.Name, protocol, strings.Join(s.Protocols(), ", "))
		}
		s.Protocol = protocol
	}
	return s.RunsOn(flavor, s.Protocol)
}

// At returns a configuration of external brokers with endpoints that are
// listeners of the scenario's protocol; any other is returned as it is.
func (s *Scenario) At(c cluster.Config) cluster.Config {
	if c.Foreign() {
		c.Protocol = ""
		if s.Protocol == contract.MQ9 {
			c.Protocol = contract.MQ9
		}
	}
	return c
}

// RunsOn is nil where a flavor has what the scenario needs of a broker, in a
// protocol.
func (s *Scenario) RunsOn(flavor, protocol string) error {
	if err := cluster.Speaks(flavor, protocol); err != nil {
		return err
	}
	if s.Shares() {
		return cluster.Shares(flavor)
	}
	return nil
}

// Suits is nil where an SDK's driver can do what the workload needs of it.
func (s *Scenario) Suits(sdk clients.SDK) error {
	if s.Workload.Wills > 0 {
		if err := sdk.CanWill(); err != nil {
			return fmt.Errorf("scenario %s has clients with a will: %w", s.Name, err)
		}
	}
	return nil
}

// Shares reports whether the workload has shared subscriptions, which a broker of MQTT need
// not know. Groups of workers are part of mq9.
func (s *Scenario) Shares() bool {
	return s.Protocol != contract.MQ9 && s.Workload.Subscribers.Shared != Shared{}
}

// Arms are what the faults of the schedule need armed, as far as this host has
// it: what it has not is for the fault to say. Situations that packets alone show need the tap.
func (s *Scenario) Arms() []string {
	var out []string
	if slices.ContainsFunc(checker.Situations[:], func(at checker.Situation) bool { return at.Wire && s.Reaches[at.Name] > 0 }) {
		out = append(out, cluster.ArmTap)
	}
	for _, k := range faults.Catalog() {
		used := slices.ContainsFunc(s.Schedule, func(step Step) bool { return step.Fault == k.Type })
		if !used || k.Arms == "" || slices.Contains(out, k.Arms) {
			continue
		}
		if _, missing := k.Available(context.Background()); missing == "" {
			out = append(out, k.Arms)
		}
	}
	return out
}

// ArmsOn are the scenario's arms that a cluster can have, and those that it is asked for.
func (s *Scenario) ArmsOn(c cluster.Config) []string {
	return cluster.WithArms(c.Armable(s.Arms()), c.Arm...)
}

// Rate is the publish rate for a flavor, of all publishers together.
func (s *Scenario) Rate(flavor string) float64 {
	if r := s.Flavors[flavor].RatePerS; r > 0 {
		return r
	}
	return s.Workload.RatePerS
}

// ExpectedS is about how long a run takes, from start to verdict.
func (s *Scenario) ExpectedS(t Tier) float64 {
	const startAndJudge = 8
	return startAndJudge + t.SteadyS + t.faultTime(s.Schedule) + t.AfterS + min(t.DrainS, 6)
}

func (t Tier) faultTime(schedule []Step) float64 {
	var end float64
	for _, step := range schedule {
		end = max(end, step.AtS+t.duration(step))
	}
	return end * float64(max(t.Rounds, 1))
}

// Params are a step's, with how long it lasts.
func (t Tier) Params(step Step) map[string]any {
	params := map[string]any{"duration_s": t.duration(step)}
	maps.Copy(params, step.Params)
	return params
}

func (t Tier) duration(step Step) float64 {
	if step.DurationS > 0 {
		return step.DurationS
	}
	return t.FaultS
}
