package main

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const elsewhere = `---
name: elsewhere
title: Is nothing lost that waits for a subscriber?
claims: [qos1-no-loss]
hypotheses:
  - {id: H1, text: A message is gone., because: Queues have an end., claims: [qos1-no-loss], scenarios: [S1]}
scenarios:
  - id: S1
    scenario: mqtt/persistent-session
    model: {flavor: FLAVOR, nodes: 1, sdk: go/rmq-mcp@1, tier: smoke, attempts: 1, thresholds: {}}
budget: {runs: 2, time_s: 600}
adequacy:
  - {claim: qos1-no-loss, state: PASS-smoke, scenarios: [S1], why: It is the question.}
not_covered:
  - {what: faults, why: The broker is somebody else's.}
---
# Elsewhere
`

// A plan on somebody else's broker is run where --endpoint says. Nothing is started where
// nobody listens, or where it is not said.
func TestPlanRunElsewhere(t *testing.T) {
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := closed.Addr().String()
	closed.Close()
	for _, test := range []struct {
		flavor string
		args   []string
		code   int
		said   string
	}{
		{"external", nil, 2, "S1 mqtt/persistent-session on 1 × external, go/rmq-mcp@1, mqtt3, tier smoke is left out: its broker is external; give --endpoint HOST:PORT for each of its nodes (1)"},
		{"external", []string{"--endpoint", nobody, "--endpoint", nobody}, 2, "is left out"},
		{"external", []string{"--endpoint", nobody}, exitHarness, nobody},
		{"reference", []string{"--endpoint", nobody}, exitHarness, "no scenario of elsewhere is on an external broker; leave --endpoint out"},
		{"reference", []string{"--username", "somebody"}, exitHarness, "--username, --ca and --queue-limit are for external brokers"},
	} {
		dir, file := t.TempDir(), filepath.Join(t.TempDir(), "plan.md")
		text := strings.Replace(elsewhere, "FLAVOR", test.flavor, 1)
		write(t, file, text)
		gaps, _ := said(t, dir, "plan", file)
		bounds := regexp.MustCompile(`write (\{.*?\}), or`).FindStringSubmatch(gaps)
		if bounds == nil {
			t.Fatalf("without thresholds: %s", gaps)
		}
		write(t, file, strings.Replace(text, "{}", bounds[1], 1))
		if out, code := said(t, dir, "plan", file); code != 0 {
			t.Fatalf("freeze: %d %s", code, out)
		}
		out, code := said(t, dir, append([]string{"plan", "run"}, test.args...)...)
		if code != test.code || !strings.Contains(out, test.said) {
			t.Errorf("%s, %q: %d %s\nwant %d, %q", test.flavor, test.args, code, out, test.code, test.said)
		}
		if runs, err := os.ReadDir(filepath.Join(dir, "runs")); len(runs) > 0 {
			t.Errorf("%s, %q: %d runs were made, %v", test.flavor, test.args, len(runs), err)
		}
	}
}
