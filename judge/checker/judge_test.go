package checker

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func judgeStory(t *testing.T, s *story, claims ...string) Report {
	t.Helper()
	r, err := Judge(s.source(1000), s.context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	heldToDoc(t, r.Results)
	return r
}

// healthy is a story in which every claim has something to judge, and holds.
func healthy() *story { return healthyOn(newStory()) }

func healthyOn(s *story) *story {
	s.connect(pub, false).join(sub, other, fleet)
	s.phase("steady")
	for seq := range int64(20) {
		for _, st := range []int32{q0, q1, q2, q1b} {
			s.publish(st, seq, history.OK).deliver(sub, st, seq).deliver(fleet, st, seq)
			if seq < 10 {
				s.deliver(other, st, seq)
			}
		}
		s.publish(reg, seq, history.OK).fetch(reg, seq)
		if seq == 9 {
			s.disconnect(other).phase("fault").fault(time.Second).wait(time.Second).heal().phase("recovery")
		}
	}
	s.join(probe1, probe2).acked(probed, 0, 1).acked(probed2, 0, 1)
	for _, p := range []int32{probe1, probe2} {
		s.delivered(p, probed, 0, 1).delivered(p, probed2, 0, 1)
	}
	s.phase("drain")
	for _, st := range []int32{q1, q2, q1b} {
		s.marker(st, 20, history.OK)
	}
	s.connect(other, true)
	for _, st := range []int32{q1, q2, q1b} {
		s.delivered(other, st, 10, 19).deliver(other, st, 20, history.FlagEnd).deliver(sub, st, 20, history.FlagEnd)
	}
	return s.finish()
}

// names are the claims that are judged without a wire, without fetches, without bad clients, without
// shared subscriptions, without wills and without MQTT 5.
func names() (list []string) {
	for _, e := range All {
		if !e.Claim.Wire && !slices.Contains([]string{"mq9-priority", "mq9-ack-kept", "mq9-one-worker", "mq9-workers-no-loss", "mq9-message-ttl", "mq9-mailbox-ttl", ClaimMailboxList, "session-expiry", "steady-resources", "shared-no-loss", "shared-one-member", "fair", "will-once"}, e.Claim.Name) {
			list = append(list, e.Claim.Name)
		}
	}
	return list
}

func TestHealthyPassesAndCanariesAreRed(t *testing.T) {
	report := judgeStory(t, healthy(), names()...)
	if !report.Complete.Closed {
		t.Error("not complete:", report.Complete.Why)
	}
	for _, r := range report.Results {
		if r.Status != verdict.Pass || !r.Canary.Red {
			t.Errorf("%s is %s, canary red %v (%s%s): %s %v", r.Claim.Name, r.Status, r.Canary.Red, r.Canary.Mutation, r.Canary.Skipped, r.Summary, r.Reasons)
		}
		if r.Consumed != int64(len(healthy().events)) || r.Judged == 0 {
			t.Errorf("%s consumed %d, judged %d", r.Claim.Name, r.Consumed, r.Judged)
		}
	}
	want := verdict.Totals{Sent: 103, Acked: 83, Received: 20*4*2 + 10*4 + 3*12}
	if got := report.Totals; got != want {
		t.Errorf("totals %+v, want %+v", got, want)
	}
}

// A message that we changed on its way ourselves is held against nobody. A panic of the
// broker over it is held against the broker.
func TestWhatIsForgedIsHeldAgainstNobody(t *testing.T) {
	for claim, plant := range map[string]func(s *story){
		"no-unexpected": func(s *story) { s.deliver(sub, q1, 5000) },
		"no-corruption": func(s *story) { s.deliver(sub, q1, 1, history.FlagCorrupt) },
		"no-panic":      func(s *story) { s.observe(history.ObservePanic, history.None, 1, 7) },
	} {
		for _, forges := range []bool{false, true} {
			s := healthy()
			plant(s)
			s.fault(time.Second)
			s.landings[len(s.landings)-1].Forges = forges
			r := judgeStory(t, s, claim).Results[0]
			want := verdict.Fail
			if forges && claim != "no-panic" {
				want = verdict.Unknown
			}
			if r.Status != want || want == verdict.Unknown && !strings.Contains(said(r), "changed bytes on their way") {
				t.Errorf("%s, forged %v: %s, want %s: %s", claim, forges, r.Status, want, said(r))
			}
		}
	}
}

// How a history is cut into batches must not matter to any result.
func TestSameBytesWhateverTheBatches(t *testing.T) {
	var first []byte
	for _, size := range []int{1000, 97, 8} {
		s := healthy()
		r, err := Judge(s.source(size), s.context(), names())
		if err != nil {
			t.Fatal(err)
		}
		for i := range r.Results {
			r.Results[i].Canary.Mutation = "" // which message is lost may differ
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = data
		}
		if string(data) != string(first) {
			t.Errorf("batches of %d:\n%s\nof 1000:\n%s", size, data, first)
		}
	}
}

func TestCanaryThatStaysGreenMakesUnknown(t *testing.T) {
	s := healthy()
	j, err := newJudge(s.context(), []string{"order-per-stream"})
	if err != nil {
		t.Fatal(err)
	}
	j.benches[0].checker = blind{j.benches[0].checker}
	src := s.source(100)
	for b, err := src.Next(); err == nil; b, err = src.Next() {
		j.add(b)
	}
	r := j.report(true).Results[0]
	if r.Status != verdict.Unknown || !strings.Contains(said(r), "canary stayed green") {
		t.Errorf("%s: %s", r.Status, said(r))
	}
}

// blind is a checker that finds nothing.
type blind struct{ Checker }

func (b blind) Result(*closing) verdict.Result { return verdict.Result{Status: verdict.Pass} }

func (b blind) fork() Checker { return blind{b.Checker.fork()} }

// breaking is a checker that panics at its first batch.
type breaking struct{ Checker }

func (b breaking) Add(batch *history.Batch) { _ = batch.Kind[batch.N+1] }

func (b breaking) fork() Checker { return breaking{b.Checker.fork()} }

// TestWhatPanicsIsUnknown: a defect of ours is no verdict on the broker, and
// takes no other claim with it.
func TestWhatPanicsIsUnknown(t *testing.T) {
	for _, test := range []struct {
		name, says string
		breaks     func(*judge)
		canaryOnly bool
	}{
		{"a checker", "its checker broke", func(j *judge) { j.benches[0].checker = breaking{j.benches[0].checker} }, false},
		{"a canary", "its canary broke", func(j *judge) {
			j.benches[0].mutation.apply = func(*history.Batch) *history.Batch { panic("a mutation of ours") }
		}, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, lost := range []bool{false, true} {
				s := healthy()
				if lost {
					s = newStory().join(sub).acked(q1, 0, 9).delivered(sub, q1, 0, 8)
					s.marked(q1, 10)
					s.finish()
				}
				j, err := newJudge(s.context(), []string{"qos1-no-loss", "no-panic"})
				if err != nil {
					t.Fatal(err)
				}
				test.breaks(j)
				src := s.source(100)
				for b, err := src.Next(); err == nil; b, err = src.Next() {
					j.add(b)
				}
				results := j.report(true).Results
				want, says := verdict.Unknown, test.says
				if lost && test.canaryOnly { // a violation that a checker found stays
					want, says = verdict.Fail, ""
				}
				if r := results[0]; r.Status != want || !strings.Contains(said(r), says) || want == verdict.Unknown && !strings.Contains(said(r), "judge_test.go:") {
					t.Errorf("lost %v: %s: %s", lost, r.Status, said(r))
				}
				if r := results[1]; !lost && r.Status != verdict.Pass {
					t.Errorf("the claim beside it is %s: %s", r.Status, said(r))
				}
			}
		})
	}
}

// TestNothingBreaks: wherever a batch ends, no checker and no canary panics.
func TestNothingBreaks(t *testing.T) {
	told := func() *story {
		s := healthyOn(wired())
		for seq := range int64(9) {
			s.toClient(sub, "publish", 101+seq, s.of(q1, 30+seq))
		}
		for seq := range int64(9) {
			s.packet(sub, "puback", 101+seq, s.of(q1, 30+seq))
		}
		return s
	}
	for size := range 100 {
		s := told()
		r, err := Judge(s.source(size+1), s.context(), names())
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range r.Results {
			if text := said(r); strings.Contains(text+r.Canary.Skipped, " broke, which is") {
				t.Errorf("batches of %d: %s: %s", size+1, r.Claim.Name, text)
			}
		}
	}
}

func TestPromised(t *testing.T) {
	s := healthy()
	s.run.Cluster.Promises = []string{"no-panic"}
	for _, r := range judgeStory(t, s, "no-panic", "recovery").Results {
		if r.Promised != (r.Claim.Name == "no-panic") {
			t.Errorf("%s promised: %v", r.Claim.Name, r.Promised)
		}
	}
}

// The totals count the losses of subscribers and of groups, as the claims do, and list each.
func TestLostSpans(t *testing.T) {
	type span struct {
		process     int32
		share       string
		first, last int64
	}
	subscribers := newStory().join(sub, other).acked(q1, 0, 9).delivered(sub, q1, 0, 2).delivered(sub, q1, 6, 8).delivered(other, q1, 1, 9)
	subscribers.marked(q1, 10)
	neverShared := shared().acked(q1, 0, 3)
	neverShared.marker(q1, 4, history.OK)
	group := shared().acked(q1, 0, 9).delivered(sub, q1, 0, 2).delivered(other, q1, 4, 6).over(q1, 10)
	for name, test := range map[string]struct {
		claim string
		tell  *story
		want  []span
	}{
		"subscribers":                            {"qos1-no-loss", subscribers, []span{{sub, "", 3, 5}, {sub, "", 9, 9}, {other, "", 0, 0}}},
		"a group":                                {"shared-no-loss", group, []span{{sub, sharedFilter, 3, 3}, {sub, sharedFilter, 7, 9}}},
		"a group of a broker that may know none": {"shared-no-loss", neverShared, nil},
		"a group that has not drained":           {"shared-no-loss", shared().acked(q1, 0, 9).delivered(sub, q1, 0, 2), nil},
	} {
		test.tell.finish()
		var got []span
		var n int64
		report := judgeStory(t, test.tell, test.claim)
		for _, l := range report.Lost {
			got = append(got, span{l.Process, l.Share, l.First, l.Last})
			n += l.Len()
		}
		r := report.Results[0]
		if !slices.Equal(got, test.want) || n != report.Totals.Lost || r.Status != verdict.Unknown && n != r.Counts["lost"] {
			t.Errorf("%s: %v, %d, of %d in the totals; the claim is %s: %v", name, got, n, report.Totals.Lost, r.Status, r.Counts)
		}
	}
}

func TestUnknownClaim(t *testing.T) {
	s := newStory()
	_, err := Judge(s.source(1), s.context(), []string{"no-such"})
	if err == nil || !strings.Contains(err.Error(), "qos1-no-loss") {
		t.Errorf("error %v does not list the claims", err)
	}
}

func TestEveryEntryIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range All {
		c := e.Claim
		if c.Name == "" || c.Text == "" || c.Source == "" || e.Checker == "" || len(e.Protocols) == 0 || e.New == nil || e.canary == nil || c.Severity == "" {
			t.Errorf("%q is not whole", c.Name)
		}
		if seen[c.Name] {
			t.Errorf("%q is there twice", c.Name)
		}
		seen[c.Name] = true
	}
}

// TestStarvedHost: a slow host explains what took too long, but not that a
// broker ended by itself when it was started.
func TestStarvedHost(t *testing.T) {
	for _, test := range []struct {
		name string
		down map[string]string
		want verdict.Status
	}{
		{"it does not serve", nil, verdict.Unknown},
		{"it runs and does not serve", map[string]string{"node-2": "running"}, verdict.Unknown},
		{"it ended", map[string]string{"node-2": "exited: status 1"}, verdict.Fail},
	} {
		s := newStory().heal().join(probe1, probe2).acked(probed, 0, 0).deliver(probe1, probed, 0)
		ctx := s.context()
		if test.down != nil {
			ctx.Landings = []history.Landing{{Fault: "f1", Healed: history.HealDown, Down: test.down}}
		}
		j, err := newJudge(ctx, []string{"recovery"})
		if err != nil {
			t.Fatal(err)
		}
		for _, batch := range s.finish().source(1000).batches {
			j.add(batch)
		}
		if r := j.benches[0].result(&closing{complete: Completeness{Closed: true}}, verdict.Coverage{HostStarvedS: 2}, ""); r.Status != test.want {
			t.Errorf("%s: %s, %s", test.name, r.Status, r.Summary)
		}
	}
}

// A run by hand is judged by what its workloads claim, too.
func TestJudgedByItsWorkloads(t *testing.T) {
	s := newStory()
	s.run.Claims = []string{"no-panic"}
	s.tables.Workloads = []history.Workload{
		{Scenario: "mqtt/one", Claims: []string{"qos2-exactly-once", "no-panic"}},
		{Scenario: "mqtt/two", Claims: []string{"no-corruption"}},
	}
	var names []string
	for _, r := range judgeStory(t, s).Results {
		names = append(names, r.Claim.Name)
	}
	if want := []string{"no-panic", "qos2-exactly-once", "no-corruption"}; !slices.Equal(names, want) {
		t.Errorf("judged %q, want %q", names, want)
	}
	if len(s.run.Claims) != 1 {
		t.Errorf("the run claims %q now", s.run.Claims)
	}
}
