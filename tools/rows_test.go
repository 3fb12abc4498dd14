package tools

import (
	"maps"
	"slices"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// The history of a message has the row of the message that overtook it, too.
func TestRowsThatViolationsPointTo(t *testing.T) {
	v := &verdict.Verdict{Results: []verdict.Result{{Anomalies: []verdict.Anomaly{
		{Stream: 4, Seq: 11, Process: 2, Events: []int64{90, 95}}, {Stream: 4, Seq: 12, Process: 2, Events: []int64{97}}, {Stream: 4, Seq: 11, Process: 3, Events: []int64{99}},
	}}}}
	for _, test := range []struct {
		at   string
		of   int32
		want []int64
	}{
		{"4/11@online-2", 2, []int64{90, 95}},
		{"4/11", history.None, []int64{90, 95, 99}},
		{"4/13", history.None, nil},
		{"95", history.None, nil},
	} {
		s, err := parseSpot(test.at)
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Sorted(maps.Keys(s.pointed(v, test.of))); !slices.Equal(got, test.want) {
			t.Errorf("%s: %d, want %d", test.at, got, test.want)
		}
	}
	if s, _ := parseSpot("4/11"); len(s.pointed(nil, history.None)) > 0 {
		t.Error("a run that was not judged points to rows")
	}
}
