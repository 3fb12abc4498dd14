package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestControls holds the two brokers with known violations against all
// statements. They must violate the known statements, no more and no less.
func TestControls(t *testing.T) {
	hosttest.Long(t, "it holds two brokers against every statement")
	t.Parallel()
	for flavor, of := range map[string]struct {
		lacks []string
		wait  time.Duration
	}{
		"mosquitto": {[]string{"flow/own-maximum-packet-size 5.0"}, 0},
		"reference": {nil, 10 * time.Second}, // it sends again after 5 s, its ack_wait_ms
	} {
		t.Run(flavor, func(t *testing.T) {
			t.Parallel()
			at, version := startCluster(t, flavor, 1)
			for _, r := range examined(t, Options{To: at[0], Known: KnownIn(KnownOf(flavor), version), Wait: of.wait}) {
				known := find(KnownIn(KnownOf(flavor), version), r.Statement) != nil
				switch {
				case r.Verdict == Undecided && r.Name != "connect/accepted": // a machine that is too busy decides less
					t.Log(told(r))
				case strings.Contains(r.Why, "does not speak MQTT"):
				case r.Verdict == Violates && known, r.Verdict == Conforms && !known:
				case r.Verdict == Unsupported && slices.Contains(of.lacks, r.Name+" "+r.Version.String()):
				case r.Verdict == Conforms && flavor == "mosquitto" && version != "mosquitto 2.0.11": // the table is of that
				default:
					t.Errorf("%s, known for it: %t", told(r), known)
				}
			}
		})
	}
}

// TestAcrossNodes has publishers and subscribers on different nodes.
func TestAcrossNodes(t *testing.T) {
	hosttest.Long(t, "it runs a cluster")
	t.Parallel()
	at, _ := startCluster(t, "reference", 3)
	for _, r := range examined(t, Options{From: at[0], To: at[2], Parallel: 1, Statements: only(
		"session/present", "take-over/closes-the-first", "subscribe/lower-qos", "retained/sent", "retained/removed", "will/published", "unsubscribe/stops",
	)}) {
		switch {
		case r.Version == V5: // which it does not speak
		case r.Verdict == Conforms:
		case r.Verdict == Undecided && r.Name != "will/published": // on a machine that is too busy
			t.Log(told(r))
		default:
			t.Error(told(r))
		}
	}
}

// TestStatements looks at the list itself.
func TestStatements(t *testing.T) {
	number, names, numbers := regexp.MustCompile(`^MQTT-\d[-.]\d+\.\d+-\d+$`), map[string]bool{}, map[string]bool{}
	for _, s := range Statements() {
		key := s.Name + s.Version.String()
		if names[key] {
			t.Errorf("%s is there twice for %s", s.Name, s.Version)
		}
		names[key] = true
		if s.Number != "" && !number.MatchString(s.Number) {
			t.Errorf("%s: the number %q has another form", s.Name, s.Number)
		}
		if s.Number != "" {
			numbers[s.Number+s.Version.String()] = true
		}
		if s.Section == "" || s.Text == "" || strings.HasSuffix(s.Text, ".") || s.check == nil {
			t.Errorf("%s: section %q, text %q", s.Name, s.Section, s.Text)
		}
	}
	if len(numbers) < 120 {
		t.Errorf("%d numbered statements are checked, expected at least 120", len(numbers))
	}
	for _, flavor := range []string{"mosquitto", "reference"} {
		for _, k := range KnownOf(flavor) {
			if k.Version != MQ9 && !slices.ContainsFunc(Statements(), func(s Statement) bool { return find([]Known{k}, s) != nil }) {
				t.Errorf("%s is known for %s, of which there is no check", flavor, k.Name)
			}
		}
	}
}

// MQTT 5 forbids these to clients, and calls none of them an error that a server must end
// the connection for.
func TestForbiddenToClients(t *testing.T) {
	names := []string{"malformed/server-packet", "malformed/publish-id-0", "malformed/subscribe-id-0", "malformed/publish-wildcard", "malformed/auth-unasked"}
	found := 0
	for _, s := range only(names...) {
		if s.Version != V5 {
			continue
		}
		if found++; s.Level != should {
			t.Errorf("%s %s is a %s", s.Name, s.Cite(), s.Level)
		}
	}
	if found != len(names) {
		t.Errorf("%d statements, expected %d", found, len(names))
	}
}

// A release is not excused for what an earlier one did.
func TestKnownOf(t *testing.T) {
	for version, want := range map[string]bool{"mosquitto 2.0.11": true, "mosquitto 2.0.22": true, "mosquitto 2.1.0": false, "mosquitto 2.1.2": false, "": true} {
		i := slices.IndexFunc(KnownIn(KnownOf("mosquitto"), version), func(k Known) bool { return k.Name == "share/no-local" })
		if i >= 0 != want {
			t.Errorf("%q is known for share/no-local: %t, expected %t", version, i >= 0, want)
		}
		if version == "" && !strings.HasSuffix(KnownIn(KnownOf("mosquitto"), version)[i].What, "before 2.1.0") {
			t.Errorf("of a broker without a version: %v", KnownIn(KnownOf("mosquitto"), version)[i])
		}
	}
}

// A violation that is not there when the check runs alone is none, and no pass.
func TestAgain(t *testing.T) {
	for _, test := range []struct{ first, second, want Verdict }{
		{Violates, Violates, Violates},
		{Violates, Conforms, Undecided},
		{Violates, Undecided, Undecided},
		{Undecided, Conforms, Conforms},
		{Undecided, Violates, Violates},
		{Unsupported, Conforms, Conforms},
	} {
		if got := again(Result{Verdict: test.first}, Result{Verdict: test.second}).Verdict; got != test.want {
			t.Errorf("%s, then %s: %s, expected %s", test.first, test.second, got, test.want)
		}
	}
}

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		filter, topic string
		want          bool
	}{
		{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true},
		{"sport/#", "sports", false},
		{"#", "sport", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false},
		{"sport/+", "sport/", true},
		{"+/+", "/finance", true},
		{"/+", "/finance", true},
		{"+", "/finance", false},
		{"#", "$SYS/a", false},
		{"+/monitor/Clients", "$SYS/monitor/Clients", false},
		{"$SYS/#", "$SYS/", true},
		{"$SYS/monitor/+", "$SYS/monitor/Clients", true},
		{"ACCOUNTS", "Accounts", false},
		{"/finance", "finance", false},
		{"+/#", "a", true},
		{"a/+/#", "a", false},
	} {
		if got := Matches(test.filter, test.topic); got != test.want {
			t.Errorf("%q matches %q: %t, expected %t", test.filter, test.topic, got, test.want)
		}
	}
}
