package museum

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Every exhibit can be tried: its scenario, claims, libraries and flavors exist and fit together.
func TestExhibits(t *testing.T) {
	for _, e := range All() {
		if err := e.check(); err != nil {
			t.Errorf("exhibits/%s.yaml: %v", e.Name, err)
		}
	}
}

// An exhibit that could not be tried is refused.
func TestBadExhibits(t *testing.T) {
	good := Exhibit{Report: "https://a.example/issues/1", What: "loses it", Party: verdict.SDK, SDK: "rust/rumqttc", Affected: "0.24.0", Scenario: "mqtt/ack-lost", Claims: []string{"sdk-resend-dup"}}
	if err := good.check(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Exhibit){
		"report is no address":     func(e *Exhibit) { e.Report = "issue 1" },
		"ends with a full stop":    func(e *Exhibit) { e.What = "It loses it." },
		"party is":                 func(e *Exhibit) { e.Party = "host" },
		"affected names a version": func(e *Exhibit) { e.Affected = "" },
		"either a scenario":        func(e *Exhibit) { e.Scenario = "" },
		"is on the sdk":            func(e *Exhibit) { e.Party, e.Flavor = verdict.Broker, "mosquitto" },
		"claims is empty":          func(e *Exhibit) { e.Claims = nil },
		"no claim":                 func(e *Exhibit) { e.Claims = []string{"sdk-redsend"} },
		"session/nothing":          func(e *Exhibit) { e.Scenario, e.Check, e.Protocol = "", "session/nothing", "mqtt3" },
		"needs its protocol":       func(e *Exhibit) { e.Scenario, e.Check = "", "will/once" },
		"0.1.2":                    func(e *Exhibit) { e.Fixed = "0.1.2" },
	} {
		e := good
		spoil(&e)
		if err := e.check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q in it", err, want)
		}
	}
}

// A run names a defect if one of the claims fails, and every violation of it is the party's.
func TestJudge(t *testing.T) {
	e := Exhibit{Party: verdict.Broker, Claims: []string{"qos1-no-loss"}}
	of := func(claim string, status verdict.Status, blames ...verdict.Party) verdict.Result {
		r := verdict.Result{Claim: verdict.Claim{Name: claim}, Status: status}
		for _, b := range blames {
			r.Anomalies = append(r.Anomalies, verdict.Anomaly{Blame: b})
		}
		return r
	}
	for _, c := range []struct {
		name   string
		blame  string
		result verdict.Result
		named  bool
		state  verdict.State
		clean  bool
	}{
		{"the broker's, by its packets", "broker: lost", of("qos1-no-loss", verdict.Fail, verdict.Broker), true, verdict.FailOnce, false},
		{"the broker's, as all of the run is", "broker: lost", of("qos1-no-loss", verdict.Fail, ""), true, verdict.FailOnce, false},
		{"one of two is of an unknown party", "unknown: arm the tap", of("qos1-no-loss", verdict.Fail, verdict.Broker, ""), false, verdict.FailOnce, false},
		{"one of two is the library's", "broker: lost; beside it sdk: a", of("qos1-no-loss", verdict.Fail, verdict.Broker, verdict.SDK), false, verdict.FailOnce, false},
		{"the party is not known", "unknown: arm the tap", of("qos1-no-loss", verdict.Fail, ""), false, verdict.FailOnce, false},
		{"the library's", "sdk: a", of("qos1-no-loss", verdict.Fail, verdict.SDK), false, verdict.FailOnce, false},
		{"another claim", "broker: lost", of("order-per-stream", verdict.Fail, verdict.Broker), false, verdict.FailOnce, false},
		{"it passed", "", of("qos1-no-loss", verdict.Pass), false, verdict.PassSmoke, true},
		{"it passed beside another failure", "broker: slow", of("qos1-no-loss", verdict.Pass), false, verdict.FailOnce, true},
		{"it passed, and the fault did not land", "", of("qos1-no-loss", verdict.Pass), false, verdict.InconclusiveFault, false},
		{"it could not be judged, in a run that passed", "", of("qos1-no-loss", verdict.Unknown), false, verdict.PassSmoke, true},
	} {
		s := &reports.Summary{Verdict: verdict.Verdict{State: c.state, Blame: c.blame, Results: []verdict.Result{c.result}}}
		if got := e.judge("1", s); got.Named != c.named || got.Clean != c.clean {
			t.Errorf("%s: named %v and clean %v, want %v and %v", c.name, got.Named, got.Clean, c.named, c.clean)
		}
	}
}

// A defect is found if the affected version is named and the fixed one passes. Nothing is rounded up.
func TestOutcome(t *testing.T) {
	run, check := Exhibit{Affected: "1", Fixed: "2", Scenario: "mqtt/soak", Claims: []string{"recovery"}}, Exhibit{Affected: "1", Fixed: "2", Check: "will/a"}
	trials := func(versions ...string) (r Result) {
		for _, v := range versions {
			version, named := strings.CutSuffix(v, "!")
			version, unclear := strings.CutSuffix(version, "?")
			r.Trials = append(r.Trials, Trial{Version: version, Named: named, Clean: !named && !unclear})
		}
		return r
	}
	for _, c := range []struct {
		e    Exhibit
		r    Result
		want Outcome
	}{
		{run, trials("1!", "2", "1!", "2"), Named},
		{run, trials("1", "2", "1!", "2"), Named},
		{run, trials("1!", "2!"), Missed},
		{run, trials("1", "2"), Missed},
		{run, trials("1!"), NotTried},
		{run, trials("1!", "2?"), NotTried},
		{run, trials("1!", "2?", "2"), Named},
		{run, Result{Trials: []Trial{{Version: "1", Named: true}, {Version: "2", Failed: []string{"recovery"}}, {Version: "2", Clean: true}}}, Missed},
		{run, trials(), NotTried},
		{run, trials("2"), NotTried},
		{check, trials("1!", "2"), Checked},
		{Exhibit{Affected: "1", Missed: "no claim"}, trials(), Missed},
	} {
		if got := c.e.Outcome(c.r); got != c.want {
			t.Errorf("%v is %s, want %s", c.r.Trials, got, c.want)
		}
	}
}

// A stored result counts until the exhibit changes.
func TestStored(t *testing.T) {
	s := Show{}
	s.Runner.Dir = t.TempDir()
	e := All()[0]
	if err := os.MkdirAll(folder(s.Runner.Dir), 0o755); err != nil {
		t.Fatal(err)
	}
	r := Stored(s.Runner.Dir, e)
	r.Trials = []Trial{{Version: e.Affected, Named: true}}
	if err := s.store(e, r); err != nil {
		t.Fatal(err)
	}
	if got := Stored(s.Runner.Dir, e); len(got.Trials) != 1 {
		t.Errorf("stored %+v", got)
	}
	e.hash = "changed"
	if got := Stored(s.Runner.Dir, e); len(got.Trials) != 0 {
		t.Errorf("of another exhibit: %+v", got)
	}
}

// TestPage holds the page and README to the exhibits: each has its row, and the score is that of
// the rows.
func TestPage(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("..", "..", name))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Fields(string(text)), " ")
	}
	page, readme := read("docs/museum.md"), read("README.md")
	found, missed, all := 0, 0, All()
	for _, e := range all {
		row := regexp.MustCompile("\\| `" + regexp.QuoteMeta(e.Name) + "` \\| [^|]* \\| [^|]* \\| " + regexp.QuoteMeta(e.Affected) + ` \| [^|]* \| [^|]* \| ([^|]*) \| ([^|]*) \|`).FindStringSubmatch(page)
		switch {
		case row == nil || !strings.Contains(row[0], e.What) || !strings.Contains(row[0], e.Report):
			t.Errorf("docs/museum.md lacks the row of %s as it is; rmq-mcp museum list --markdown prints it", e.Name)
		case strings.Contains(row[1], "missed"):
			missed++
		case e.Fixed != "" && !strings.HasPrefix(row[2], "0 of "):
			t.Errorf("docs/museum.md says %q of the fixed version of %s", row[2], e.Name)
		default:
			found++
		}
	}
	score := regexp.MustCompile(`A run names (\d+) of (\d+) defects that other people reported, by the right claim and party; a conformance check finds (\d+) more, and (\d+) are missed`).FindStringSubmatch(page)
	if score == nil {
		t.Fatal("docs/museum.md has no score")
	}
	var named, of, checked, says int
	fmt.Sscan(strings.Join(score[1:], " "), &named, &of, &checked, &says)
	if of != len(all) || named+checked != found || says != missed {
		t.Errorf("the score is %q; the rows have %d found and %d missed of %d", score[0], found, missed, len(all))
	}
	if !strings.Contains(readme, score[0]) {
		t.Errorf("README.md lacks the score: %s", score[0])
	}
}
