package verdict

import (
	"strings"
	"testing"
)

func TestProvesLoss(t *testing.T) {
	result := func(name string, status Status, lost int64) Result {
		return Result{Claim: Claim{Name: name}, Status: status, Reasons: []string{"a fault changed bytes"}, Violations: []Violations{{Kind: KindLost, Count: lost}}}
	}
	failed, unknown := result("qos1-no-loss", Fail, 5), result("shared-no-loss", Unknown, 3)
	old := Result{Status: Fail, Anomalies: []Anomaly{{Kind: KindLost}}}
	for _, c := range []struct {
		name    string
		results []Result
		missing int64
		proven  bool
		why     string
	}{
		{"no claim misses any", []Result{{Status: Fail}}, 5, false, "no claim that this run is held to"},
		{"a failed claim", []Result{failed}, 5, true, ""},
		{"a failed claim misses some of them", []Result{failed}, 6, true, "no claim that this run is held to"},
		{"a failed claim of an old run", []Result{old}, 6, true, ""},
		{"two failed claims of an old run", []Result{old, old}, 6, true, ""},
		{"an unknown one", []Result{unknown}, 3, false, "shared-no-loss is unknown: a fault changed bytes"},
		{"both", []Result{failed, unknown}, 8, true, "shared-no-loss is unknown: a fault changed bytes"},
		{"both, the other way round", []Result{unknown, failed}, 8, true, "shared-no-loss is unknown: a fault changed bytes"},
		{"both, and those of the unknown one are not counted", []Result{failed, unknown}, 5, true, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			proven, why := ProvesLoss(c.results, c.missing)
			if proven != c.proven || !strings.HasPrefix(why, c.why) || c.why == "" && why != "" {
				t.Errorf("ProvesLoss = %v, %q, want %v, %q", proven, why, c.proven, c.why)
			}
		})
	}
}
