package reports

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// The picture: two panels over one time axis, phases in a strip below them,
// faults shaded through both, losses on the line between. Trends, where there are
// any, have a panel for each quantity below.
const (
	svgWidth, svgHeight      = 960, 420
	plotLeft, plotRight      = 68, 944
	ratesTop, ratesBottom    = 66, 218
	lossY                    = 222
	delayTop, delayBottom    = 244, 366
	phaseTop, phaseHeight    = 366, 16
	axisY                    = 398
	maxColumns               = 438 // one every two pixels
	tailWidth                = 28  // of a tail that is compressed
	charWidth                = 6.2 // of the small text, about
	quietLatency, topLatency = 0.1, 1e6
)

//go:embed timeline.css
var timelineStyle string

// A timeline draws one run.
type timeline struct {
	svg
	act      *activity
	landings []history.Landing
	lost     Losses
	trends   []verdict.Trend
	columns  []bucket
	width    time.Duration // of a column
	end      float64       // seconds
	tail     float64       // seconds: from then on nothing happens, and the axis is compressed; end if not
}

// drawTimeline answers the picture of a run. The same run gives the same bytes.
func drawTimeline(title string, act *activity, landings []history.Landing, lost Losses, trends []verdict.Trend) []byte {
	t := &timeline{act: act, landings: landings, lost: lost, trends: trends}
	height := t.height()
	t.columns, t.width = act.merged(maxColumns)
	t.end = max(1, act.end.Seconds())
	t.tail = t.quiet()
	fmt.Fprintf(t, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img">`+"\n", svgWidth, height, svgWidth, height)
	fmt.Fprintf(t, "<style>%s</style>\n", timelineStyle)
	t.rect("paper", 0, 0, svgWidth, float64(height))
	t.text("title", 14, 22, title)
	t.legend()
	t.faults()
	t.rates()
	t.latencies()
	t.losses()
	t.phases()
	t.timeAxis()
	t.growth()
	t.WriteString("</svg>\n")
	return []byte(t.String())
}

// quiet is when the last thing of a run happened, in seconds, or the end of the run if the rest is
// short. A drain that waits for what is lost would take half of the picture.
func (t *timeline) quiet() float64 {
	last := 0.0
	for i, c := range t.columns {
		if c.called+c.acked+c.delivered > 0 {
			last = float64(i+1) * t.width.Seconds()
		}
	}
	for _, l := range t.landings {
		last = max(last, float64(l.Times.HealNS)/1e9, float64(l.Times.HealedNS)/1e9)
	}
	const margin, least = 1.03, 0.15 // behind the last thing; of the whole, to be worth it
	if last *= margin; last == 0 || len(t.trends) > 0 || t.end-last < least*t.end {
		return t.end
	}
	return last
}

// right is where the axis ends that is not compressed.
func (t *timeline) right() float64 {
	if t.tail < t.end {
		return plotRight - tailWidth
	}
	return plotRight
}

func (t *timeline) x(seconds float64) float64 {
	if seconds > t.tail {
		return t.right() + min((seconds-t.tail)/(t.end-t.tail), 1)*(plotRight-t.right())
	}
	return plotLeft + max(seconds/t.tail, 0)*(t.right()-plotLeft)
}

func (t *timeline) legend() {
	x, acked := 14.0, "acknowledged publishes/s"
	if t.act.qos0 {
		acked = "acknowledged and QoS 0 publishes/s"
	}
	for _, entry := range []struct{ class, text string }{
		{"acked", acked}, {"delivered", "deliveries/s"},
		{"p50", "publish latency p50"}, {"p99", "p99"},
	} {
		t.line(entry.class, x, 38, x+18, 38)
		t.text("small", x+23, 42, entry.text)
		x += 40 + charWidth*float64(len(entry.text))
	}
	t.rect("fault", x, 32, 14, 12)
	t.text("small", x+19, 42, "fault in place")
	x += 36 + charWidth*14
	t.mark("lost", x+5, 34)
	t.text("small", x+14, 42, t.lost.word()+", when published")
}

// faults are shaded until their heal begins, each labelled in a row of its own
// where they overlap. A dashed line is where the heal was read back: until then
// what one sees is how the system came back.
func (t *timeline) faults() {
	rows := []float64{} // where the last label of each row ends
	for _, l := range t.landings {
		start, end := float64(l.Times.StartNS())/1e9, float64(l.Times.HealNS)/1e9
		if l.Times.AppliedNS == 0 {
			continue
		}
		if end <= start {
			end = t.end
		}
		class := "fault"
		if l.State != history.Landed {
			class = "fault doubtful"
		}
		x0, x1 := t.x(start), t.x(end)
		t.rect(class, x0, ratesTop, max(1.5, x1-x0), phaseTop-ratesTop)
		if healed := float64(l.Times.HealedNS) / 1e9; healed > end {
			t.line("healed", t.x(healed), ratesTop, t.x(healed), phaseTop)
		}
		label := faultLabel(l)
		at := min(x0+3, plotRight-charWidth*float64(len(label)))
		row := slices.IndexFunc(rows, func(end float64) bool { return end < at })
		if row < 0 {
			row, rows = len(rows), append(rows, 0)
		}
		rows[row] = at + charWidth*float64(len(label))
		t.text("small faultname", at, ratesTop+12+13*float64(row), label)
	}
}

func faultLabel(l history.Landing) string {
	label := fmt.Sprintf("%s %s %s", l.Fault, l.Type, cmp.Or(joined(l.Nodes, "+"), l.Target))
	if l.State != history.Landed {
		label += " (" + string(l.State) + ")"
	}
	return label
}

func (t *timeline) rates() {
	per := t.width.Seconds()
	top, clipped := t.rateScale()
	y := func(n int) float64 {
		return ratesBottom - min(float64(n)/per/top, 1)*(ratesBottom-ratesTop)
	}
	step := niceStep(top, 4)
	for v := 0.0; v <= top*1.001; v += step {
		t.line("grid", plotLeft, y(int(v*per+0.5)), plotRight, y(int(v*per+0.5)))
		t.text("small right", plotLeft-6, y(int(v*per+0.5))+4, thousands(int64(v)))
	}
	t.vertical("small middle", 14, (ratesTop+ratesBottom)/2, "messages per s")
	var acked, delivered []point
	for i, c := range t.columns {
		x := t.x((float64(i) + 0.5) * per)
		acked = append(acked, point{x: x, y: y(c.acked)})
		delivered = append(delivered, point{x: x, y: y(c.delivered)})
	}
	t.curve("delivered", delivered)
	t.curve("acked", acked)
	if clipped > 0 {
		t.text("small right", plotRight, ratesTop-4, fmt.Sprintf("↑ the highest peak is cut: %s/s", thousands(int64(clipped))))
	}
}

// rateScale is the top of the rates' axis. A backlog that drains in one burst
// would press everything else to the ground, so such a peak is cut and named.
func (t *timeline) rateScale() (top, clipped float64) {
	var all []float64
	for _, c := range t.columns {
		all = append(all, float64(max(c.acked, c.delivered))/t.width.Seconds())
	}
	if len(all) == 0 {
		return 1, 0
	}
	slices.Sort(all)
	peak, usual := all[len(all)-1], all[int(0.9*float64(len(all)-1))]
	if usual > 0 && peak > 3*usual {
		return 1.6 * usual, peak
	}
	return max(1, 1.08*peak), 0
}

func (t *timeline) latencies() {
	low, high := t.latencyScale()
	y := func(ms float64) float64 {
		share := (math.Log10(max(ms, low)) - math.Log10(low)) / (math.Log10(high) - math.Log10(low))
		return delayBottom - share*(delayBottom-delayTop)
	}
	for v := low; v <= high*1.001; v *= 10 {
		t.line("grid", plotLeft, y(v), plotRight, y(v))
		t.text("small right", plotLeft-6, y(v)+4, durationLabel(v))
	}
	t.vertical("small middle", 14, (delayTop+delayBottom)/2, "latency (log)")
	var p50, p99 []point
	for i, c := range t.columns {
		x := t.x((float64(i) + 0.5) * t.width.Seconds())
		if len(c.latencies) == 0 {
			p50, p99 = append(p50, point{gap: true}), append(p99, point{gap: true})
			continue
		}
		p50 = append(p50, point{x: x, y: y(quantile(c.latencies, 0.50))})
		p99 = append(p99, point{x: x, y: y(quantile(c.latencies, 0.99))})
	}
	t.curve("p99", p99)
	t.curve("p50", p50)
}

// latencyScale is the decades that hold every percentile drawn, in ms.
func (t *timeline) latencyScale() (low, high float64) {
	low, high = topLatency, quietLatency
	for _, c := range t.columns {
		if len(c.latencies) > 0 {
			low, high = min(low, quantile(c.latencies, 0.5)), max(high, quantile(c.latencies, 0.99))
		}
	}
	if high < low {
		return 1, 100
	}
	low = math.Pow(10, math.Floor(math.Log10(max(low, quietLatency))))
	high = math.Pow(10, math.Ceil(math.Log10(high)))
	return low, max(high, low*10)
}

func durationLabel(ms float64) string {
	switch {
	case ms >= 1000:
		return fmt.Sprintf("%g s", ms/1000)
	case ms >= 1:
		return fmt.Sprintf("%g ms", ms)
	}
	return fmt.Sprintf("%g µs", math.Round(ms*1000))
}

// losses marks when what was lost was published: every few pixels, where there
// was a publish.
func (t *timeline) losses() {
	t.line("axis", plotLeft, ratesBottom, plotRight, ratesBottom)
	const grain = 4
	marked, last := map[int]bool{}, 0.0
	for _, r := range t.lost.Ranges {
		from, to := t.x(float64(r.FromNS)/1e9), t.x(float64(r.ToNS)/1e9)
		for x := from; x <= to; x += grain {
			if at := int(x / grain); !marked[at] && t.published(x) {
				marked[at] = true
				t.mark("lost", x, lossY)
			}
		}
		last = max(last, to)
	}
	if t.lost.Total > 0 {
		label := thousands(t.lost.Total) + " " + t.lost.word()
		t.text("small lostcount", min(last+8, t.right()-charWidth*float64(len(label))), lossY+9, label)
	}
}

// published reports whether anything was published around x.
func (t *timeline) published(x float64) bool {
	column := int((x - plotLeft) / (t.right() - plotLeft) * t.tail / t.width.Seconds())
	return column < len(t.columns) && t.columns[column].called > 0
}

func (t *timeline) phases() {
	for i, p := range t.act.phases {
		x0, x1 := t.x(float64(p.StartNS)/1e9), t.x(float64(p.EndNS)/1e9)
		t.rect([]string{"phase", "phase odd"}[i%2], x0, phaseTop, max(0, x1-x0), phaseHeight)
		if x1-x0 > charWidth*float64(len(p.Name))+6 {
			t.text("small middle", (x0+x1)/2, phaseTop+12, p.Name)
		}
	}
	t.line("axis", plotLeft, delayBottom, plotRight, delayBottom)
}

func (t *timeline) timeAxis() {
	step := niceStep(t.tail, 18)
	for i := 0; float64(i)*step <= t.tail; i++ {
		v := float64(i) * step
		t.line("axis", t.x(v), phaseTop+phaseHeight, t.x(v), phaseTop+phaseHeight+4)
		t.text("small middle", t.x(v), axisY, fmt.Sprintf("%g", v))
	}
	if t.tail < t.end {
		t.rect("phase", t.right(), ratesTop, plotRight-t.right(), phaseTop+phaseHeight-ratesTop)
		t.vertical("small middle", plotRight-tailWidth/2+4, (delayTop+delayBottom)/2, fmt.Sprintf("nothing for %.0f s", t.end-t.tail))
	}
	t.text("small middle", (plotLeft+plotRight)/2, axisY+15, "time since the start of the run (s)")
}
