package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/runtest"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

func TestTimelineIsAPictureOfTheRun(t *testing.T) {
	x := runtest.Run{Lossy: true, Seconds: 20, Rate: 200}
	dir := x.Record(t, t.TempDir())
	first, second := pictureOf(t, dir), pictureOf(t, dir)
	if !bytes.Equal(first, second) {
		t.Error("the same run gave two different pictures")
	}
	for _, want := range []string{"f1 kill node-1", "recovery", "class=\"lost\"", "2,800 lost", "latency (log)"} {
		if !bytes.Contains(first, []byte(want)) {
			t.Errorf("the picture does not show %q", want)
		}
	}
	for d := xml.NewDecoder(bytes.NewReader(first)); ; {
		if _, err := d.Token(); err == io.EOF {
			break
		} else if err != nil {
			t.Fatalf("the picture is not XML: %v", err)
		}
	}
	if path := os.Getenv("RMQ_TEST_PICTURE"); path != "" {
		must(t, os.WriteFile(path, first, 0o644))
	}
}

// The trends of a run have a panel for each quantity, with every node's slope and
// interval, and a table in the report.
func TestTrendsAreShown(t *testing.T) {
	trend := func(quantity, node, unit, rate string, slope, low, high float64, levels ...float64) verdict.Trend {
		return verdict.Trend{
			Quantity: quantity, Metric: map[string]string{"memory": history.ObserveMemory, "descriptors": history.ObserveDescriptors}[quantity], Node: node, Unit: unit, PerHour: rate, Slope: slope, Low: low, High: high, Budget: 60, Samples: 40,
			FromNS: 10e9, ToNS: 40e9, Levels: levels, Status: verdict.Pass,
		}
	}
	act := newActivity(&history.Tables{Nodes: []history.Node{{Name: "node-1"}, {Name: "node-2"}}})
	var rows []history.Event
	for i := range 40 {
		rows = append(rows, history.Event{
			Time: time.Duration(i) * time.Second, Process: history.None, Kind: history.KindObserve, Node: int16(i % 2),
			Text: history.ObserveMemory, Value: float64(300+i) * (1 << 20),
		})
	}
	act.Add(history.BatchOf(nil, rows))
	act.finish()
	trends := []verdict.Trend{
		trend("memory", "node-1", "MiB", "MiB/h", 120.5, 80, 161, 310, 312, 315, 316, 320, 325, 330, 335),
		trend("memory", "node-2", "MiB", "MiB/h", 0, -12, 12, 300, 300, 300, 300, 300, 300, 300, 300),
		trend("descriptors", "node-1", "", "/h", 3, -1, 7, 90, 90, 91, 90, 90, 90, 91, 91),
		{Quantity: "descriptors", Node: "node-2", Status: verdict.Unknown, PerHour: "/h", Levels: []float64{}, FromNS: 10e9, ToNS: 40e9},
	}
	picture := drawTimeline("a soak", act, nil, Losses{}, trends)
	for i := range rows { // a metric that no trend is of
		rows[i].Text, rows[i].Value = history.ObserveAnonymous, 9<<30
	}
	act.Add(history.BatchOf(nil, rows))
	if !bytes.Equal(picture, drawTimeline("a soak", act, nil, Losses{}, trends)) {
		t.Error("what was read of a metric is drawn in the panel of another")
	}
	page, err := Markdown(&Report{Started: runtest.Start, Verdict: verdict.Verdict{Results: []verdict.Result{{Status: verdict.Pass, Trends: trends}}}})
	must(t, err)
	for _, want := range []string{"memory MiB", "descriptors", "node-1 +120.5 MiB/h (+80 to +161)", "node-2 0 MiB/h (−12 to +12)", "node-2 not told", `class="level node1"`, `class="reading node0"`} {
		if !bytes.Contains(picture, []byte(want)) {
			t.Errorf("the picture does not show %q", want)
		}
	}
	for _, want := range []string{"## Trends", "| memory MiB | node-1 | +120.5 MiB/h | +80 to +161 | +60 | 310, 312,", "| descriptors | node-2 | not told |"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the report does not say %q", want)
		}
	}
	if path := os.Getenv("RMQ_TEST_PICTURE"); path != "" {
		must(t, os.WriteFile(path+".trends.svg", picture, 0o644))
	}
}

// A publish of QoS 0 is drawn once it was written, and is not said to be acknowledged. One
// that is unknown was maybe never written.
func TestTimelineOfQoS0(t *testing.T) {
	publish := func(edge history.Edge, of int64, qos uint8, outcome history.Outcome) history.Event {
		return history.Event{Time: time.Millisecond, Kind: history.KindPublish, Edge: edge, Call: of, QoS: qos, Outcome: outcome}
	}
	for _, c := range []struct {
		qos       uint8
		outcome   history.Outcome
		acked     int
		latencies int
		legend    string
	}{
		{1, history.OK, 1, 1, ">acknowledged publishes/s<"},
		{0, history.OK, 1, 0, ">acknowledged and QoS 0 publishes/s<"},
		{0, history.Info, 0, 0, ">acknowledged publishes/s<"},
	} {
		act := newActivity(&history.Tables{Processes: []history.Process{{Name: "publisher-1"}}})
		act.Add(history.BatchOf(nil, []history.Event{publish(history.Call, history.None, c.qos, 0), publish(history.Return, 0, c.qos, c.outcome)}))
		act.finish()
		if b := act.buckets[0]; b.acked != c.acked || len(b.latencies) != c.latencies {
			t.Errorf("QoS %d, %s: %+v", c.qos, c.outcome, b)
		}
		if picture := drawTimeline("a run", act, nil, Losses{}, nil); !bytes.Contains(picture, []byte(c.legend)) {
			t.Errorf("QoS %d, %s: the picture does not say %q", c.qos, c.outcome, c.legend)
		}
	}
}

// The axis of a tail in which nothing happens is compressed; a short one is left as it is.
func TestTimelineOfALongDrain(t *testing.T) {
	for _, c := range []struct {
		end  time.Duration
		says bool
	}{{100 * time.Second, true}, {41 * time.Second, false}} {
		act := newActivity(&history.Tables{Processes: []history.Process{{Name: "online-1"}}})
		act.Add(history.BatchOf(nil, []history.Event{
			{Time: 40 * time.Second, Kind: history.KindDeliver, Call: history.None},
			{Time: c.end, Kind: history.KindPhase, Text: "judge", Process: history.None},
		}))
		act.finish()
		if got := bytes.Contains(drawTimeline("a run", act, nil, Losses{}, nil), []byte("nothing for ")); got != c.says {
			t.Errorf("a run of %s: compressed %v, want %v", c.end, got, c.says)
		}
	}
}

func TestTimelineOfNothing(t *testing.T) {
	act := newActivity(&history.Tables{})
	act.finish()
	if picture := drawTimeline("nothing", act, nil, Losses{}, nil); !bytes.Contains(picture, []byte("</svg>")) {
		t.Error("a run without events has no picture")
	}
}

func pictureOf(t *testing.T, dir string) []byte {
	t.Helper()
	d, err := Open(dir)
	must(t, err)
	act, _, _, err := d.follow(verdict.Verdict{})
	must(t, err)
	v, found, err := d.Judge()
	must(t, err)
	return drawTimeline("mqtt/broker-kill-9 on mosquitto 2.0.21", act, d.Landings, losses(v, found, act.tables, d.Landings), nil)
}

func TestQuantile(t *testing.T) {
	for _, c := range []struct {
		values []float32
		q      float64
		want   float64
	}{
		{[]float32{3}, 0.99, 3},
		{[]float32{1, 2, 3, 4}, 0.5, 3},
		{[]float32{1, 2, 3, 4}, 0.99, 4},
	} {
		if got := quantile(c.values, c.q); got != c.want {
			t.Errorf("quantile(%v, %v) = %v, want %v", c.values, c.q, got, c.want)
		}
	}
}

func TestWhenOf(t *testing.T) {
	fault := []history.Window{{Fault: "f1", Start: 10 * time.Second, End: 14 * time.Second}}
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{8 * time.Second, 9 * time.Second, "until 1s before f1"},
		{9 * time.Second, 11 * time.Second, "from 1s before f1 until 1s into it"},
		{11 * time.Second, 12 * time.Second, "1s to 2s into f1"},
		{13 * time.Second, 15 * time.Second, "from 3s into f1 until after it was healed"},
		{9 * time.Second, 15 * time.Second, "across all of f1"},
		{15 * time.Second, 16 * time.Second, "from 1s after f1 was healed"},
	} {
		if got := whenOf(c.from, c.to, fault); got != c.want {
			t.Errorf("whenOf(%v, %v) = %q, want %q", c.from, c.to, got, c.want)
		}
	}
}
