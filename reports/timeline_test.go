package reports

import (
	"bytes"
	"encoding/xml"
	"io"
	"os"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/history"
)

func TestTimelineIsAPictureOfTheRun(t *testing.T) {
	x := experiment{lossy: true, seconds: 20, rate: 200}
	dir := x.record(t, t.TempDir())
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

func TestTimelineOfNothing(t *testing.T) {
	act := newActivity(&history.Tables{})
	act.finish()
	if picture := drawTimeline("nothing", act, nil, Losses{}); !bytes.Contains(picture, []byte("</svg>")) {
		t.Error("a run without events has no picture")
	}
}

func pictureOf(t *testing.T, dir string) []byte {
	t.Helper()
	d, err := Open(dir)
	must(t, err)
	act, err := d.follow()
	must(t, err)
	_, found, err := d.judge()
	must(t, err)
	return drawTimeline("mqtt/broker-kill-9 on mosquitto 2.0.21", act, d.Landings, losses(found, act.tables, d.Landings))
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
