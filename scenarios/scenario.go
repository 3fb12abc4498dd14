// Package scenarios holds the scenario library and the Runner that executes
// one. A scenario is a Markdown file: its front matter is what the server
// executes and judges by, its prose what an agent reads.
package scenarios

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// A Scenario is one experiment, as written down.
type Scenario struct {
	Name     string              `yaml:"name" json:"name"`         // mqtt/broker-kill-9
	Title    string              `yaml:"title" json:"title"`       // one line
	Protocol string              `yaml:"protocol" json:"protocol"` // mqtt3, mqtt5
	Kind     string              `yaml:"kind" json:"kind"`         // basic, fault, client, composite
	Cluster  Cluster             `yaml:"cluster" json:"cluster"`
	SDK      string              `yaml:"sdk" json:"sdk"`
	Workload Workload            `yaml:"workload" json:"workload"`
	Schedule []Step              `yaml:"schedule" json:"schedule"`
	Claims   []string            `yaml:"claims" json:"claims"`
	Tiers    map[string]Tier     `yaml:"tiers" json:"tiers"`     // smoke, hardening
	Flavors  map[string]Override `yaml:"flavors" json:"flavors"` // what a flavor needs otherwise

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
	Streams      int         `yaml:"streams" json:"streams"` // topics of each publisher and QoS
	QoS          []uint8     `yaml:"qos" json:"qos"`
	RatePerS     float64     `yaml:"rate_per_s" json:"rate_per_s"` // of all publishers together
	PayloadBytes int         `yaml:"payload_bytes" json:"payload_bytes"`
	MaxInflight  int         `yaml:"max_inflight" json:"max_inflight"` // of each publisher
	Subscribers  Subscribers `yaml:"subscribers" json:"subscribers"`
	SlowMS       int         `yaml:"slow_ms" json:"slow_ms"` // a slow subscriber's time for each message

	// Registers are topics that every publisher writes retained messages to,
	// one at a time, instead of streams of its own.
	Registers int `yaml:"registers" json:"registers"`
}

// Subscribers count the subscribers of each group. All but live ones keep
// their session, and each gets every message.
type Subscribers struct {
	Online  int `yaml:"online" json:"online"`   // connected throughout, one node after the other
	Offline int `yaml:"offline" json:"offline"` // subscribed, then away until the drain
	Paused  int `yaml:"paused" json:"paused"`   // connected, reads nothing until the drain
	Slow    int `yaml:"slow" json:"slow"`       // reads slower than is published
	Readers int `yaml:"readers" json:"readers"` // read the registers, each time on a fresh session
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
// dimension.
type Tier struct {
	SteadyS   float64 `yaml:"steady_s" json:"steady_s"`
	FaultS    float64 `yaml:"fault_s" json:"fault_s"`       // each fault, where its step does not say
	AfterS    float64 `yaml:"after_s" json:"after_s"`       // traffic after the heal
	DrainS    float64 `yaml:"drain_s" json:"drain_s"`       // bound
	RecoveryS float64 `yaml:"recovery_s" json:"recovery_s"` // bound
	ProgressS float64 `yaml:"progress_s" json:"progress_s"` // longest allowed silence during a fault; 0: not judged
	Messages  int64   `yaml:"messages" json:"messages"`     // least that must be acknowledged
	Rounds    int     `yaml:"rounds" json:"rounds"`         // times the schedule is run through; 0 is 1
}

// An Override is what a flavor needs otherwise, in every tier; zero fields
// change nothing.
type Override struct {
	FaultS    float64 `yaml:"fault_s" json:"fault_s"`
	AfterS    float64 `yaml:"after_s" json:"after_s"`
	DrainS    float64 `yaml:"drain_s" json:"drain_s"`
	RecoveryS float64 `yaml:"recovery_s" json:"recovery_s"`
	ProgressS float64 `yaml:"progress_s" json:"progress_s"`
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
	dec := yaml.NewDecoder(bytes.NewReader(front))
	dec.KnownFields(true)
	if err := dec.Decode(s); err != nil {
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
	name = tierName(name)
	t, ok := s.Tiers[name]
	if !ok {
		return Tier{}, fmt.Errorf("scenario %s has no tier %q; it has %s", s.Name, name, strings.Join(sortedKeys(s.Tiers), ", "))
	}
	o := s.Flavors[flavor]
	for _, f := range []struct{ to, from *float64 }{
		{&t.FaultS, &o.FaultS}, {&t.AfterS, &o.AfterS}, {&t.DrainS, &o.DrainS},
		{&t.RecoveryS, &o.RecoveryS}, {&t.ProgressS, &o.ProgressS},
	} {
		if *f.from > 0 {
			*f.to = *f.from
		}
	}
	t.Rounds = max(t.Rounds, 1)
	return t, nil
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

func (t Tier) duration(step Step) float64 {
	if step.DurationS > 0 {
		return step.DurationS
	}
	return t.FaultS
}
