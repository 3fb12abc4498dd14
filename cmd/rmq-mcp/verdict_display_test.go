package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func TestWrap(t *testing.T) {
	for _, test := range []struct {
		text  string
		width int
		want  string
	}{
		{"a terminal that is wide enough", 80, "a terminal that is wide enough"},
		{"a terminal that is narrower", 20, "a terminal that is|narrower"},
		{"a_word_that_is_wider_than_the_terminal and more", 20, "a_word_that_is_wider_than_the_terminal|and more"},
		{"ääää öööö üüüü ßßßß", 20, "ääää öööö üüüü ßßßß"},
		{"no terminal at all", 0, "no terminal at all"},
		{"", 40, ""},
	} {
		if got := strings.Join(wrap(test.text, test.width), "|"); got != test.want {
			t.Errorf("%q in %d: %q, want %q", test.text, test.width, got, test.want)
		}
	}
}

// A run ends with its verdict, what failed at which client, and how many claims hold.
func TestBrief(t *testing.T) {
	v := verdict.Verdict{
		State: verdict.FailOnce, Headline: "FAIL-once: not repeated: 12 of 40 deliveries never arrived", Severity: verdict.P0, Blame: "unknown: pending another SDK",
		Results: []verdict.Result{
			{Claim: verdict.Claim{Name: "qos1-no-loss"}, Status: verdict.Fail, Violations: []verdict.Violations{
				{Kind: "lost", Process: 0, Count: 3}, {Kind: "lost", Process: 1, Count: 9}, {Kind: "late", Process: 1, Count: 1},
			}},
			{Claim: verdict.Claim{Name: "no-panic"}, Status: verdict.Pass},
			{Claim: verdict.Claim{Name: "no-leak"}, Status: verdict.Unknown},
			{Claim: verdict.Claim{Name: "sdk-once", Wire: true}, Status: verdict.Unknown},
		},
	}
	var out bytes.Buffer
	sheetFor(&out).brief(v, []string{"online-1", "offline-1"})
	want := `FAIL-once: not repeated: 12 of 40 deliveries never arrived
  failed    qos1-no-loss: 1 late (offline-1 1); 12 lost (offline-1 9, online-1 3)
  passed    1 claim
  unknown   no-leak
  severity  P0
  blame     unknown: pending another SDK
`
	if out.String() != want {
		t.Errorf("got\n%swant\n%s", out.String(), want)
	}
}
