package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// with changes a run of a test.
type with func(*Run)

// storedRun is a run on RobustMQ in which a fault landed and no claim was judged.
func storedRun(id string, changes ...with) Run {
	r := Run{
		Row: reports.Row{
			ID: id, Scenario: "mqtt/broker-kill-9", Protocol: "mqtt3", SDK: "go/x@1", Flavor: "robustmq", Version: "robustmq 0.4.11", Nodes: 3, Tier: "smoke",
			Started: time.Date(2026, 11, 26, 0, len(id), 0, 0, time.UTC), State: verdict.PassSmoke, Root: "root of " + id,
		},
		Report: &reports.Report{ID: id, Landings: []history.Landing{{Fault: "f1", State: history.Landed}}},
	}
	r.Report.Verdict.State = verdict.PassSmoke
	for _, change := range changes {
		change(&r)
	}
	r.Report.Cluster = history.ClusterInfo{Flavor: r.Flavor, Version: r.Version, Planted: r.Planted, Profile: "tested", Runtime: "process", Config: r.Report.Cluster.Config}
	for _, sdk := range strings.Split(r.SDK, ", ") {
		name, version, _ := strings.Cut(sdk, "@")
		r.Report.SDKs = append(r.Report.SDKs, reports.SDK{Name: name, Version: version})
	}
	if r.Scenario != "" {
		r.Report.Reproduce = "rmq-mcp run " + r.Scenario + " --tier " + id
	}
	return r
}

// failing makes a run fail a claim, blamed on a party, so many times.
func failing(claim, kind string, party verdict.Party, count int64) with {
	return func(r *Run) {
		r.State, r.Report.Verdict.State = verdict.FailOnce, verdict.FailOnce
		of := verdict.Party("")
		if strings.HasPrefix(claim, "sdk-") {
			of = verdict.SDK
		}
		violations := verdict.Violations{Kind: kind, Blame: party, Count: count}
		anomaly := verdict.Anomaly{Kind: kind, Blame: party, Text: kind + " in " + r.ID}
		r.Report.Violations = append(r.Report.Violations, reports.Violations{Claim: claim, Kind: kind, Blame: party, Count: count})
		for i, known := range r.Report.Verdict.Results {
			if known.Claim.Name == claim {
				known.Violations, known.Anomalies = append(known.Violations, violations), append(known.Anomalies, anomaly)
				r.Report.Verdict.Results[i] = known
				return
			}
		}
		r.Report.Verdict.Results = append(r.Report.Verdict.Results, verdict.Result{
			Claim: verdict.Claim{Name: claim, Of: of, Severity: verdict.P1, Text: "it holds", Source: "MQTT"}, Status: verdict.Fail, Promised: of == "", Summary: "it fails",
			Violations: []verdict.Violations{violations}, Anomalies: []verdict.Anomaly{anomaly},
		})
	}
}

// holding makes a run hold claims.
func holding(claims ...string) with {
	return func(r *Run) {
		for _, claim := range claims {
			r.Report.Verdict.Results = append(r.Report.Verdict.Results, verdict.Result{Claim: verdict.Claim{Name: claim}, Status: verdict.Pass, Canary: verdict.Canary{Red: true}})
		}
	}
}

// sdk gives a run libraries.
func sdk(names string) with { return func(r *Run) { r.SDK = names } }

// blamed joins a run with what a comparison decided.
func blamed(cause reports.Cause, claim string, runs ...string) with {
	return func(r *Run) {
		if r.Report.Blame == nil {
			r.Report.Blame = &reports.Blame{}
		}
		r.Report.Blame.Attributions = append(r.Report.Blame.Attributions, reports.Attribution{Cause: cause, Claims: []string{claim}, Runs: runs})
	}
}

func repeatable(r *Run) { r.Repeatable = true }

func noFault(r *Run) { r.Report.Landings = nil }

// listed are findings, each as its key, its party, its smallest run and the runs that show it.
func listed(all Findings) (list []string) {
	for _, f := range all.Findings {
		shows := make([]string, len(f.Runs))
		for i, r := range f.Runs {
			shows[i] = r.RunID + " " + r.Times()
		}
		list = append(list, fmt.Sprintf("%s, by %s, smallest %s %s: %s", f.Key, f.Party, f.Smallest.RunID, f.Smallest.FailsIn(), strings.Join(shows, ", ")))
	}
	return list
}

// counted are the setups of a finding, each as what the tests change in it.
func counted(f Finding) (list []string) {
	for _, s := range f.Seen {
		list = append(list, fmt.Sprintf("%s %s %s: %d of %d", s.Broker, s.SDK, s.Tier, s.Failed, s.Of))
	}
	return list
}

// TestFindings has each rule by which a failure becomes a finding.
func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name string
		runs []Run
		want []string
	}{
		{"as the packets show it", []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3))}, []string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 3"}},
		{"nobody can tell", []Run{storedRun("a", failing("loss", "lost", "", 3))}, []string{"robustmq: loss, lost, by unknown, smallest a 1 of 1: a 3"}},
		{"nobody can tell, and the same broker is blamed in another run",
			[]Run{storedRun("a", failing("loss", "lost", "", 3)), storedRun("bb", failing("loss", "lost", verdict.Broker, 2), noFault)},
			[]string{"robustmq: loss, lost, by broker, smallest bb 1 of 1: bb 2, a 3"}},
		{"some of it blamed, of one run", []Run{storedRun("a", failing("loss", "lost", "", 3), failing("loss", "lost", verdict.Broker, 2))}, []string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 5"}},
		{"the packets show a library's doing in one of two runs", []Run{
			storedRun("a", failing("loss", "lost", verdict.SDK, 3), blamed(reports.CauseSDK, "loss", "a", "b"), func(r *Run) { r.Report.Blame.Attributions[0].Proof = "wire" }), storedRun("b", failing("loss", "lost", "", 3)),
		}, []string{"go/x: loss, lost, by sdk, smallest a 1 of 1: a 3", "robustmq: loss, lost, by unknown, smallest b 1 of 2: b 3"}},
		{"its library is blamed for the same, too",
			[]Run{storedRun("a", failing("dup", "twice", verdict.Broker, 1)), storedRun("b", failing("dup", "twice", verdict.SDK, 1)), storedRun("c", failing("dup", "twice", "", 1))},
			[]string{"go/x: dup, twice, by sdk, smallest b 1 of 2: b 1", "robustmq: dup, twice, the broker's or the library's, by unknown, smallest c 1 of 3: c 1", "robustmq: dup, twice, by broker, smallest a 1 of 2: a 1"}},
		{"a claim on the library", []Run{storedRun("a", failing("sdk-honest", "false", "", 3))}, []string{"go/x: sdk-honest, false, by sdk, smallest a 1 of 1: a 3"}},
		{"our own client", []Run{storedRun("a", sdk("go/rmq-mcp@1"), failing("sdk-honest", "false", "", 3))}, nil},
		{"one of two libraries", []Run{storedRun("a", sdk("go/x@1, go/y@2"), failing("sdk-honest", "false", "", 3))}, nil},
		{"one of two libraries, which the report names", []Run{storedRun("a", sdk("go/x@1, go/y@2"), failing("sdk-honest", "false", "", 3), func(r *Run) { r.Report.Violations[0].SDK = "go/y@2" })},
			[]string{"go/y: sdk-honest, false, by sdk, smallest a 1 of 1: a 3"}},
		{"a host that stood still", []Run{storedRun("a", failing("sdk-honest", "false", "", 3), func(r *Run) { r.Report.Coverage.HostStarvedS = 5 })}, nil},
		{"the harness's doing", []Run{storedRun("a", failing("loss", "lost", verdict.Harness, 3))}, nil},
		{"some of it the harness's doing", []Run{storedRun("a", failing("loss", "lost", verdict.Harness, 3), failing("loss", "lost", verdict.Broker, 2))}, []string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 2"}},
		{"a planted defect", []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3), func(r *Run) { r.Planted = "deliver-twice" })}, nil},
		{"a comparison blames the broker", []Run{storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseBroker, "loss", "a"))}, []string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 3"}},
		{"a comparison blames the harness, in its control run, too",
			[]Run{storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseHarness, "loss", "a", "b")), storedRun("b", failing("loss", "lost", "", 3), func(r *Run) { r.Flavor = "mosquitto" })}, nil},
		{"a comparison blames both", []Run{storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseBroker, "loss", "a"), blamed(reports.CauseSDK, "loss", "a"))},
			[]string{"robustmq: loss, lost, by unknown, smallest a 1 of 1: a 3"}},
		{"a matrix blames the library", []Run{storedRun("a", failing("loss", "lost", "", 3), func(r *Run) {
			r.Report.Matrix = &reports.Membership{Attributions: []reports.Attribution{{Cause: reports.CauseSDK, Claims: []string{"loss"}, Runs: []string{"a"}}}}
		})}, []string{"go/x: loss, lost, by sdk, smallest a 1 of 1: a 3"}},
		{"two comparisons disagree on one of two runs", []Run{
			storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseSDK, "loss", "a")), storedRun("b", failing("loss", "lost", "", 3), blamed(reports.CauseBroker, "loss", "a", "b")),
		}, []string{"robustmq: loss, lost, by broker, smallest b 1 of 1: b 3, a 3"}},
		{"the other way round", []Run{
			storedRun("b", failing("loss", "lost", "", 3), blamed(reports.CauseBroker, "loss", "a", "b")), storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseSDK, "loss", "a")),
		}, []string{"robustmq: loss, lost, by broker, smallest b 1 of 1: b 3, a 3"}},
		{"one of two libraries is blamed for the same", []Run{
			storedRun("a", failing("dup", "twice", verdict.Broker, 1)), storedRun("b", failing("dup", "twice", verdict.SDK, 1)), storedRun("d", sdk("python/y@2"), failing("dup", "twice", "", 1)),
		}, []string{"go/x: dup, twice, by sdk, smallest b 1 of 2: b 1", "robustmq: dup, twice, by broker, smallest a 1 of 2: a 1, d 1"}},
		{"a copy under another name", []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3)), storedRun("b", failing("loss", "lost", verdict.Broker, 3), func(r *Run) { r.Root = "root of a" })},
			[]string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 3"}},
		{"a fault that did not land", []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3), func(r *Run) { r.Report.Landings[0].State = history.NotLanded })},
			[]string{"robustmq: loss, lost, by broker, smallest a not counted: a 3"}},
		{"a comparison blames nobody", []Run{storedRun("a", failing("loss", "lost", "", 3), blamed(reports.CauseUndecided, "loss", "a"), blamed(reports.CauseBroker, "loss", "a"))},
			[]string{"robustmq: loss, lost, by broker, smallest a 1 of 1: a 3"}},
		{"an exploration by hand", []Run{storedRun("a", failing("loss", "lost", "", 3), func(r *Run) { r.Scenario = "" })}, []string{"robustmq: loss, lost, by unknown, smallest a by hand: a 3"}},
		{"an older report, which counts none", []Run{storedRun("a", failing("loss", "lost", "", 3), func(r *Run) { r.Report.Violations, r.Report.Verdict.Results[0].Violations = nil, nil })},
			[]string{"robustmq: loss, lost, by unknown, smallest a 1 of 1: a at least 1"}},
		{"two stranger's brokers", []Run{storedRun("a", failing("loss", "lost", "", 3), at("10.0.0.2:1", "10.0.0.1:1")), storedRun("b", failing("loss", "lost", "", 3), at("10.0.0.1:1", "10.0.0.2:1")), storedRun("c", failing("loss", "lost", "", 3), at("10.0.0.9:1"))},
			[]string{"external 10.0.0.1:1,10.0.0.2:1: loss, lost, by unknown, smallest a 2 of 2: a 3, b 3", "external 10.0.0.9:1: loss, lost, by unknown, smallest c 1 of 1: c 3"}},
	} {
		all := Make(c.runs, nil)
		if got := listed(all); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
		if noted := len(all.Notes) > 0; noted != (len(c.want) == 0 && c.name != "a planted defect" || c.name == "some of it the harness's doing") {
			t.Errorf("%s: notes %q", c.name, all.Notes)
		}
	}
}

// Violations that nobody is blamed for join those of the broker. A finding's first example, its
// smallest run and its number of times are of the broker's alone.
func TestWhatJoinsIsBlamedOnNobody(t *testing.T) {
	runs := []Run{
		storedRun("a", failing("loss", "lost", verdict.Broker, 1), failing("loss", "lost", "", 2)),
		storedRun("bb", failing("loss", "lost", "", 5), func(r *Run) { r.Report.Reproduce = "rmq-mcp run mqtt/broker-kill-9 --tier a" }),
		storedRun("ccc", failing("loss", "lost", "", 9), sdk("python/y@2"), noFault),
	}
	f := Make(runs, nil).Findings[0]
	if f.Party != verdict.Broker || f.Smallest.RunID != "a" || f.Smallest.FailsIn() != "1 of 1" || len(f.Seen) != 2 || f.Seen[0].Of != 2 || f.Seen[1].Of != 1 {
		t.Errorf("%s, %+v, %+v", f.Party, f.Smallest, f.Seen)
	}
	var lines []string
	for _, r := range f.Runs {
		lines = append(lines, fmt.Sprint(r.RunID, " ", r.Undecided))
	}
	if want := []string{"a false", "ccc true", "bb true"}; !slices.Equal(lines, want) || !f.Last.Equal(runs[2].Started) || !f.First.Equal(runs[0].Started) {
		t.Errorf("%q, want %q; %s to %s", lines, want, f.First, f.Last)
	}
	// A part of what joined is blamed on nobody, and keeps its ID.
	parts := []Part{{f.ID, []string{"ccc"}, "by itself"}}
	all := Make(runs, parts).Findings
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Title == "by itself" })
	of := f.Key
	if of.Title = "by itself"; i < 0 || all[i].Party != verdict.Undecided || all[i].ID != of.ID() || all[i].Smallest.FailsIn() != "1 of 1" {
		t.Errorf("%+v", all)
	}
}

// at is a run on brokers of somebody else's.
func at(endpoints ...any) with {
	return func(r *Run) {
		r.Flavor, r.Version = "external", history.UnknownVersion
		r.Report.Cluster.Config = map[string]any{"endpoints": endpoints}
	}
}

// TestSeen has each rule by which a run counts as one that could have shown a finding.
func TestSeen(t *testing.T) {
	shows := storedRun("a", failing("loss", "lost", verdict.Broker, 3))
	for _, c := range []struct {
		name string
		run  Run
		want []string // none: nothing of it is counted
	}{
		{"it holds the claim", storedRun("b", holding("loss")), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"it judged another claim", storedRun("b", holding("order")), nil},
		{"it fails another claim, and holds this one", storedRun("b", failing("order", "late", "", 1), holding("loss")), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"it fails the claim in another way", storedRun("b", failing("loss", "corrupted", "", 1)), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"it fails the claim, in which way is not counted", storedRun("b", failing("loss", "corrupted", "", 1), func(r *Run) { r.Report.Verdict.Results[0].Violations = nil }), nil},
		{"it fails the claim by the doing of somebody else", storedRun("b", failing("loss", "lost", verdict.SDK, 1)), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"it was stopped early", storedRun("b", failing("order", "late", "", 1), holding("loss"), func(r *Run) { r.Report.Shortfalls = []verdict.Shortfall{{Kind: verdict.BudgetMissed}} }), nil},
		{"its load was low, as the broker broke down", storedRun("b", failing("order", "late", "", 1), holding("loss"), func(r *Run) { r.Report.Shortfalls = []verdict.Shortfall{{Kind: verdict.Underload}} }), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"another broker", storedRun("b", holding("loss"), func(r *Run) { r.Flavor, r.Version = "mosquitto", "mosquitto 2.0" }), nil},
		{"it fails the claim by the doing of the harness", storedRun("b", failing("loss", "lost", verdict.Harness, 1)), nil},
		{"its fault did not land", storedRun("b", holding("loss"), failing("order", "late", "", 1), func(r *Run) { r.Report.Landings[0].State = history.NotLanded }), nil},
		{"its host was starved", storedRun("b", holding("loss"), failing("order", "late", "", 1), func(r *Run) { r.Report.Coverage.HostStarvedS = 5 }), nil},
		{"its canary stayed green", storedRun("b", holding("loss"), func(r *Run) { r.Report.Verdict.Results[0].Canary.Red = false }), nil},
		{"its load was low, and nothing else", storedRun("b", holding("loss"), func(r *Run) {
			r.Report.Verdict.State, r.Report.Shortfalls = verdict.InconclusiveOracle, []verdict.Shortfall{{Kind: verdict.Underload}, {Kind: verdict.OneSeed}}
		}), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 2"}},
		{"a process of ours was gone, in an older report", storedRun("b", holding("loss"), failing("order", "late", "", 1), func(r *Run) { r.Report.Coverage.Gone = []string{"the disk layer"} }), nil},
		{"it could not be told", storedRun("b", holding("loss"), func(r *Run) { r.Report.Verdict.State = verdict.InconclusiveEnv }), nil},
		{"a planted defect", storedRun("b", holding("loss"), func(r *Run) { r.Planted = "resend" }), nil},
		{"another version", storedRun("b", holding("loss"), func(r *Run) { r.Version = "robustmq 0.4.12" }), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 1", "robustmq 0.4.12 go/x@1 smoke: 0 of 1"}},
		{"another library", storedRun("b", holding("loss"), sdk("python/y@2")), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 1", "robustmq 0.4.11 python/y@2 smoke: 0 of 1"}},
		{"another tier", storedRun("b", holding("loss"), func(r *Run) { r.Tier = "release" }), []string{"robustmq 0.4.11 go/x@1 release: 0 of 1", "robustmq 0.4.11 go/x@1 smoke: 1 of 1"}},
		{"another text of the scenario", storedRun("b", holding("loss"), func(r *Run) { r.Report.Scenario.SHA256 = "other" }), []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 1", "robustmq 0.4.11 go/x@1 smoke: 0 of 1"}},
		{"another scenario", storedRun("b", holding("loss"), func(r *Run) { r.Scenario = "mqtt/soak" }), nil},
	} {
		want := c.want
		if want == nil {
			want = []string{"robustmq 0.4.11 go/x@1 smoke: 1 of 1"}
		}
		all := Make([]Run{shows, c.run}, nil).Findings
		f := all[slices.IndexFunc(all, func(f Finding) bool { return f.Runs[0].RunID == "a" && f.Kind == "lost" })]
		if got := counted(f); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", c.name, got, want)
		}
	}
}

// A finding says where the same claim fails in the same way for another reason.
func TestAlso(t *testing.T) {
	all := Make([]Run{storedRun("a", failing("dup", "twice", verdict.Broker, 1)), storedRun("b", failing("dup", "twice", verdict.SDK, 1))}, nil).Findings
	if len(all) != 2 || !slices.Equal(all[0].Also, []string{all[1].ID}) || !slices.Equal(all[1].Also, []string{all[0].ID}) {
		t.Errorf("%+v", all)
	}
}

// The smallest reproduction is one that a command repeats, where there is such a run.
func TestSmallest(t *testing.T) {
	lost := failing("loss", "lost", verdict.Broker, 1)
	named := func(name string) with { return func(r *Run) { r.Scenario = name } }
	for _, c := range []struct {
		name, run, command string
		runs               []Run
	}{
		{"a run that counts", "b", "rmq-mcp run mqtt/broker-kill-9 --tier b", []Run{storedRun("a", lost, noFault, func(r *Run) { r.Report.Coverage.HostStarvedS = 9 }), storedRun("b", lost)}},
		{"fewer faults", "b", "rmq-mcp run mqtt/soak --tier b", []Run{storedRun("a", lost), storedRun("b", lost, noFault, named("mqtt/soak"))}},
		{"not by hand", "b", "rmq-mcp run mqtt/broker-kill-9 --tier b", []Run{storedRun("a", lost, noFault, named("")), storedRun("b", lost)}},
		{"by hand alone", "a", "", []Run{storedRun("a", lost, named(""))}},
		{"a candidate of a reduction", "a", "rmq-mcp replay a", []Run{storedRun("a", lost, named("reduced/broker-kill-9-ab12"), repeatable)}},
		{"somebody's own scenario", "a", "rmq-mcp replay a", []Run{storedRun("a", lost, named("mine.md"), repeatable)}},
		{"a published copy of such", "a", "", []Run{storedRun("a", lost, named("mine.md"))}},
	} {
		small := Make(c.runs, nil).Findings[0].Smallest
		if small.RunID != c.run || small.Command != c.command {
			t.Errorf("%s: %+v", c.name, small)
		}
	}
}

// A finding has the same name on each version, and when it becomes known that the broker
// is to blame.
func TestFindingIsOne(t *testing.T) {
	unknown := storedRun("a", failing("loss", "lost", "", 3))
	before := Make([]Run{unknown}, nil).Findings
	after := Make([]Run{unknown, storedRun("bb", failing("loss", "lost", verdict.Broker, 3), func(r *Run) { r.Version = "robustmq 0.4.12" })}, nil).Findings
	if len(before) != 1 || len(after) != 1 || before[0].ID != after[0].ID || !strings.HasPrefix(before[0].ID, "robustmq-loss-") {
		t.Fatalf("%+v, then %+v", before, after)
	}
	if before[0].Party != verdict.Undecided || after[0].Party != verdict.Broker || !after[0].Last.After(before[0].Last) {
		t.Errorf("%+v, then %+v", before, after)
	}
}

func TestFind(t *testing.T) {
	all := Make([]Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3), failing("order", "late", verdict.Broker, 1))}, nil)
	for ref, want := range map[string]string{all.Findings[0].ID: "", "robustmq-lo": "", "robustmq": "is the beginning of several findings: robustmq-loss-", "": "there are robustmq-loss-", "x": "there are robustmq-loss-"} {
		f, err := all.Find(ref)
		if want == "" && (err != nil || f.Claim != "loss") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v", ref, f, err)
		}
	}
	if _, err := (Findings{}).Find("x"); err == nil || !strings.Contains(err.Error(), "there is none yet") {
		t.Error(err)
	}
}

// A person parts findings, and each part is a finding on versions that come. A line that
// does nothing is told.
func TestParts(t *testing.T) {
	runs := []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3)), storedRun("bb", failing("loss", "lost", verdict.Broker, 4))}
	id := Make(runs, nil).Findings[0].ID
	parts, err := ParseParts("# the leader moved\n\n" + id + " bb: after the leader moved back\nno-such-0000 a: nothing\n" + id + " zz: nothing\n")
	if err != nil || len(parts) != 3 {
		t.Fatalf("%+v, %v", parts, err)
	}
	all := Make(runs, parts)
	want := []string{"robustmq: loss, lost, by broker, smallest a 1 of 2: a 3", "robustmq: loss, lost, after the leader moved back, by broker, smallest bb 1 of 1: bb 4"}
	if got := listed(all); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) || !slices.ContainsFunc(all.Findings, func(f Finding) bool { return f.ID == id }) {
		t.Errorf("%q, want %q", got, want)
	}
	if notes := strings.Join(all.Notes, "\n"); len(all.Notes) != 2 || !strings.Contains(notes, "parts no-such-0000, and there is no such finding") || !strings.Contains(notes, "takes run zz out of "+id) {
		t.Errorf("notes %q", all.Notes)
	}
	for _, text := range []string{"robustmq-loss-88f5: why", "robustmq-loss-88f5 a", "robustmq-loss-88f5 a: "} {
		if _, err := ParseParts(text); err == nil || !strings.Contains(err.Error(), "line 1 is ") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// Two parts of one title are one finding, also where their parties differ.
func TestPartsOfOneTitle(t *testing.T) {
	runs := []Run{storedRun("a", failing("dup", "twice", verdict.Broker, 1)), storedRun("b", failing("dup", "twice", verdict.SDK, 1)), storedRun("c", failing("dup", "twice", "", 1))}
	var parts []Part
	for _, f := range Make(runs, nil).Findings {
		if f.Party != verdict.SDK {
			parts = append(parts, Part{f.ID, []string{f.Runs[0].RunID}, "after a restart"})
		}
	}
	if got := listed(Make(runs, parts)); len(got) != 2 || !strings.HasSuffix(got[1], ": a 1, c 1") {
		t.Errorf("%q", got)
	}
}

// All of a finding's runs can become another one.
func TestPartOfAll(t *testing.T) {
	runs := []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 3))}
	id := Make(runs, nil).Findings[0].ID
	all := Make(runs, []Part{{id, []string{"a"}, "on start"}})
	if got := listed(all); !slices.Equal(got, []string{"robustmq: loss, lost, on start, by broker, smallest a 1 of 1: a 3"}) {
		t.Errorf("%q", got)
	}
	again := Make(runs, []Part{{id, []string{"a"}, "on start"}, {all.Findings[0].ID, []string{"a"}, "on start"}})
	if got := listed(again); len(got) != 1 || len(again.Notes) > 0 {
		t.Errorf("%q, notes %q", got, again.Notes)
	}
}

// panicking makes a run's nodes panic at a place.
func panicking(file string, count int64) with {
	return func(r *Run) {
		failing("no-panic", "panic", "", count)(r)
		if file != "" {
			r.Report.Panics = append(r.Report.Panics, reports.Panic{File: file, Line: 7, Message: "no.", Count: count, Nodes: []string{"node-2"}, Log: "evidence/logs/node-2.log", LogLine: 12})
		}
	}
}

// Panics at two places are two findings, and those at one place are one on each version and
// machine. Older reports tell no place.
func TestPanics(t *testing.T) {
	all := Make([]Run{
		storedRun("a", panicking("src/a.rs", 2), panicking("src/b.rs", 1)), storedRun("b", panicking("src/a.rs", 1)), storedRun("c", panicking("", 3)), storedRun("d", holding("no-panic")),
	}, nil)
	want := []string{
		"robustmq: no-panic, panic at src/a.rs, by broker, smallest a 2 of 3: a 2, b 1",
		"robustmq: no-panic, panic at src/b.rs, by broker, smallest a 1 of 3: a 1",
		"robustmq: no-panic, panic, by broker, smallest c 1 of 2: c 3",
	}
	if got := listed(all); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q, want %q", got, want)
	}
	i := slices.IndexFunc(all.Findings, func(f Finding) bool { return f.Place == "src/a.rs" })
	if got := all.Findings[i].Runs[0].Example; !strings.Contains(got, ":7: no (evidence/logs/node-2.log, line 12)") {
		t.Errorf("example %q", got)
	}
	wild := storedRun("e", panicking("src/a.rs", 1), blamed(reports.CauseSDK, "no-panic", "e"))
	wild.Report.Panics[0].Nodes = nil
	wild.Report.Panics = append(wild.Report.Panics, reports.Panic{Message: "stack overflow", Count: 1, Nodes: []string{"node-1"}})
	for _, f := range Make([]Run{wild}, nil).Findings {
		if f.Party != verdict.Broker || f.Place != "src/a.rs" && f.Place != "stack overflow" {
			t.Errorf("%+v", f.Key)
		}
	}
}

// A command is shown only where nothing but it is in it.
func TestCommandOfAStranger(t *testing.T) {
	for command, want := range map[string]bool{
		"rmq-mcp run mqtt/will --seed 7": true,
		"rmq-mcp run mqtt/will --no-faults --endpoint [::1]:1883 --sdk go/x@1.2.3+incompatible": true,
		"rmq-mcp run mqtt/will --seed 7; curl x|sh":                                             false,
		"rmq-mcp run mqtt/will --seed $(x)":                                                     false,
		"rm -r run mqtt/will":                                                                   false,
		"rmq-mcp run mqtt/will\n--seed 7":                                                       false,
	} {
		r := storedRun("a")
		r.Report.Reproduce = command
		if got, _ := r.command(); (got != "") != want {
			t.Errorf("%q: %q", command, got)
		}
	}
}
