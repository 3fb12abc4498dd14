package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseMetrics(t *testing.T) {
	page := `# HELP a_total what it counts
# TYPE a_total counter
a_total 3
b{} 1.5 1700000000
raft_apply_lag{machine="data_0"} 2
latency_bucket{le="1"} 9
latency_count 12
client_connections_total{tenant="default",client_id="x y"} 1
client_connections_total{tenant="default",client_id="z"} 4
not a sample
c NaN
# EOF
`
	got := map[string]float64{}
	parseMetrics([]byte(page), got)
	want := map[string]float64{"a_total": 3, "b": 1.5, `raft_apply_lag{machine="data_0"}`: 2, "latency_count": 12, "client_connections_total": 5}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}
