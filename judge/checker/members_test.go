package checker

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A member without deliveries shows even if its group gets many. The time in which a
// member is away does not count as silence.
func TestMembers(t *testing.T) {
	s := shared().settled().dealt(q1, 0, 1)
	s.acked(q1, 2, 2).deliver(other, q1, 2).wait(2*time.Second).acked(q1, 3, 3).deliver(other, q1, 3).wait(time.Second)
	s.disconnect(sub).wait(time.Minute).connect(sub, true).acked(q1, 4, 4).deliver(sub, q1, 4).over(q1, 5)
	s.finish()
	report := judgeStory(t, s, "shared-no-loss")
	for i := range report.Members {
		report.Members[i].SilentS = float64(int(report.Members[i].SilentS)) // to the second
	}
	want := []verdict.Member{
		{Group: sharedFilter, Name: "sub-1", Delivered: 2, SilentS: 2},
		{Group: sharedFilter, Name: "sub-2", Delivered: 4, SilentS: 0},
	}
	if diff := cmp.Diff(want, report.Members); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}
