package checker

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A broker that keeps sessions in memory alone is killed. The subscriber that was away
// loses acknowledged messages, end markers included. That is a failure and not an
// incomplete history, and the verdict says that the vendor does not promise it.
func TestBrokerThatForgets(t *testing.T) {
	s := newStory()
	s.run.Claims = []string{"qos1-no-loss", "session-kept"}
	s.run.Cluster.Flavor = "mosquitto"
	s.connect(pub, false).join(sub, other).disconnect(other).phase("steady")
	for seq := range int64(10) {
		s.publish(q1, seq, history.OK).deliver(sub, q1, seq)
	}
	s.phase("fault").fault(2 * time.Second)
	under := s.publishing(q1, 10)
	call := s.call(under)
	s.disconnect(sub).disconnect(pub).wait(2 * time.Second).heal()
	s.connect(pub, false).join(sub).phase("recovery")
	s.ret(under, call, history.OK)
	for seq := int64(11); seq < 20; seq++ {
		s.publish(q1, seq, history.OK).deliver(sub, q1, seq)
	}
	s.phase("drain").marker(q1, 20, history.OK).deliver(sub, q1, 20, history.FlagEnd)
	s.join(other).finish()

	report := judgeStory(t, s)
	if !report.Complete.Closed {
		t.Fatal("not complete:", report.Complete.Why)
	}
	counts := report.Results[0].Counts
	if counts["lost"] != 22 || counts["lost_session"] != 22 || report.Totals.Lost != 22 {
		t.Errorf("counts %v", counts)
	}
	v := verdict.Decide(verdict.Input{Run: &s.run, Results: report.Results, Complete: report.Complete, Coverage: report.Coverage})
	if v.State != verdict.FailOnce || v.State.ExitCode() != 1 || v.Severity != "P0" {
		t.Errorf("%s, %s", v.State, v.Severity)
	}
	if !strings.Contains(v.Headline, "22 of 42 due deliveries were lost") ||
		!slices.Contains(v.Reasons, "mosquitto does not promise qos1-no-loss in this configuration") {
		t.Errorf("%s\n%s", v.Headline, strings.Join(v.Reasons, "\n"))
	}
}
