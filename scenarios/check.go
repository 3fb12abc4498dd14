package scenarios

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/checker"
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
	if !slices.Contains([]string{contract.MQTT3, contract.MQTT5}, s.Protocol) {
		bad.add("protocol %q: valid are mqtt3, mqtt5", s.Protocol)
	}
	if !slices.Contains(kinds[:], s.Kind) {
		bad.add("kind %q: valid are %s", s.Kind, strings.Join(kinds[:], ", "))
	}
	s.Workload.check(&bad)
	for i, step := range s.Schedule {
		step.check(&bad, i+1)
	}
	for _, claim := range s.Claims {
		if _, err := checker.Find(claim); err != nil {
			bad.add("claims: %w", err)
		}
	}
	if len(s.Claims) == 0 {
		bad.add("claims: at least one is required, a run without claims judges nothing")
	}
	if _, ok := s.Tiers["smoke"]; !ok {
		bad.add("tiers: smoke is required")
	}
	for _, name := range sortedKeys(s.Tiers) {
		if t := s.Tiers[name]; min(t.SteadyS, t.FaultS, t.AfterS, t.DrainS, t.RecoveryS, t.ProgressS, float64(t.Messages), float64(t.Rounds)) < 0 {
			bad.add("tiers: %s: no value may be below 0", name)
		}
	}
	return errors.Join(bad...)
}

func (w *Workload) check(bad *problems) {
	for _, required := range []struct {
		field string
		given bool
	}{
		{"publishers", w.Publishers > 0}, {"streams (or registers)", w.Streams > 0 || w.Registers > 0}, {"qos", len(w.QoS) > 0},
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
	if w.PayloadBytes < contract.HeaderLen {
		bad.add("workload: payload_bytes %d: at least %d, which the header takes that says which message it is", w.PayloadBytes, contract.HeaderLen)
	}
	sub := w.Subscribers
	if min(w.Streams, w.Registers, w.SlowMS, sub.Online, sub.Offline, sub.Paused, sub.Slow, sub.Readers) < 0 {
		bad.add("workload: no value may be below 0")
	}
	processes := w.Publishers + sub.Online + sub.Offline + sub.Paused + sub.Slow + sub.Readers
	streams := w.Publishers * (w.Streams + w.Registers) * len(w.QoS)
	if processes > maxProcesses || streams > maxStreams || processes*streams > maxPairs {
		bad.add("workload: %d clients and %d streams are too much for one run: at most %d, %d, and %d of one times the other", processes, streams, maxProcesses, maxStreams, maxPairs)
	}
}

func (step *Step) check(bad *problems, n int) {
	if _, err := faults.Parse(step.Fault, step.Params); err != nil {
		bad.add("schedule step %d: %w", n, err)
	}
	if !slices.Contains(cluster.Roles(), step.Target) && !nodeForm.MatchString(step.Target) {
		bad.add("schedule step %d: target %q: valid are %s, and node-1 and so on", n, step.Target, strings.Join(cluster.Roles(), ", "))
	}
	if min(step.AtS, step.DurationS) < 0 {
		bad.add("schedule step %d: no time may be below 0", n)
	}
}
