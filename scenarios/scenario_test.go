package scenarios

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLibrary(t *testing.T) {
	all, err := Library()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 6 {
		t.Errorf("%d scenarios, want at least 6", len(all))
	}
	for _, s := range all {
		again, err := Load(s.Name)
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if diff := cmp.Diff(s, again); diff != "" {
			t.Errorf("%s is not found by its own name: %s", s.Name, diff)
		}
		if s.Prose == "" || !strings.HasPrefix(s.Prose, "# ") {
			t.Errorf("%s has no prose for an agent", s.Name)
		}
		smoke, hardening := s.Tiers["smoke"], s.Tiers["hardening"]
		if hardening.SteadyS <= smoke.SteadyS || hardening.Messages <= smoke.Messages {
			t.Errorf("%s: tier hardening is not more than smoke: %+v, %+v", s.Name, hardening, smoke)
		}
	}
}

const minimal = `---
name: test/minimal
title: a test
protocol: mqtt3
kind: fault
cluster: {nodes: 1, flavor: reference}
sdk: go
workload: {publishers: 1, streams: 1, qos: [1], rate_per_s: 10, payload_bytes: 128, max_inflight: 1, subscribers: {online: 1}}
schedule: [{fault: pause, target: leader}]
claims: [qos1-no-loss]
tiers:
  smoke: {steady_s: 1, fault_s: 2, after_s: 1, drain_s: 5, recovery_s: 9, messages: 5}
flavors:
  robustmq: {fault_s: 45, rate_per_s: 5}
---
# A test
`

func TestParse(t *testing.T) {
	for _, test := range []struct {
		name      string
		old, new_ string
		want      string // in the error; "" for none
	}{
		{"as it is", "", "", ""},
		{"no front matter", "---\nname", "name", `first line is not "---"`},
		{"not closed", "---\n# A test", "# A test", "not closed"},
		{"unknown field", "kind: fault", "kindness: fault", "field kindness not found"},
		{"unknown fault", "fault: pause", "fault: paws", `no fault "paws"`},
		{"unknown claim", "[qos1-no-loss]", "[qos1-no-lost]", `no claim "qos1-no-lost"; the claims are`},
		{"no claims", "[qos1-no-loss]", "[]", "at least one is required"},
		{"a QoS that is none", "qos: [1]", "qos: [3]", "valid are 0, 1, 2"},
		{"another protocol", "mqtt3", "amqp", "valid are mqtt3, mqtt5"},
		{"no smoke", "smoke:", "fog:", "smoke is required"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse("test", []byte(strings.Replace(minimal, test.old, test.new_, 1)))
			switch {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("error %v, want one that says %q", err, test.want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "mine.md")
	if err := os.WriteFile(path, []byte(minimal), 0o644); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(path); err != nil || s.Name != "test/minimal" {
		t.Errorf("a file of one's own: %v, %v", s, err)
	}
	if _, err := Load("mqtt/broker-kill-10"); err == nil || !strings.Contains(err.Error(), "mqtt/broker-kill-9") {
		t.Errorf("an unknown name answers %v, want the names that exist", err)
	}
	if _, err := Load("../library/mqtt/broker-kill-9"); err == nil {
		t.Error("a name leads out of the library")
	}
}

func TestTier(t *testing.T) {
	s, err := Parse("test", []byte(minimal))
	if err != nil {
		t.Fatal(err)
	}
	tier, err := s.Tier("", "robustmq")
	if err != nil {
		t.Fatal(err)
	}
	if tier.FaultS != 45 || tier.AfterS != 1 || tier.Rounds != 1 || s.Rate("robustmq") != 5 {
		t.Errorf("tier for robustmq: %+v, rate %g", tier, s.Rate("robustmq"))
	}
	if tier, _ := s.Tier("smoke", "reference"); tier.FaultS != 2 || s.Rate("reference") != 10 {
		t.Errorf("tier for reference: %+v, rate %g", tier, s.Rate("reference"))
	}
	if _, err := s.Tier("nightly", ""); err == nil || !strings.Contains(err.Error(), "it has smoke") {
		t.Errorf("an unknown tier answers %v", err)
	}
}
