package reports

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A panel of the picture for each quantity: what was read of each node, thin; the
// levels that its trend was judged by, thick; and the slopes above them.
const (
	trendTop, trendHeight = 446, 64
	trendGap              = 28
	trendTicks            = 4
	nodeColours           = 5 // that timeline.css has; more nodes share them
)

// trendsOf are those of all claims.
func trendsOf(v verdict.Verdict) (all []verdict.Trend) {
	for _, r := range v.Results {
		all = append(all, r.Trends...)
	}
	return all
}

// quantitiesOf are the trends by quantity, as they came.
func quantitiesOf(trends []verdict.Trend) (groups [][]verdict.Trend) {
	for _, t := range trends {
		if n := len(groups); n > 0 && groups[n-1][0].Quantity == t.Quantity {
			groups[n-1] = append(groups[n-1], t)
		} else {
			groups = append(groups, []verdict.Trend{t})
		}
	}
	return groups
}

// height of the picture.
func (t *timeline) height() int {
	if len(t.trends) == 0 {
		return svgHeight
	}
	return svgHeight + len(quantitiesOf(t.trends))*(trendHeight+trendGap) + 12
}

func (t *timeline) growth() {
	for i, group := range quantitiesOf(t.trends) {
		t.quantity(group, trendTop+float64(i)*(trendHeight+trendGap))
	}
}

// quantity draws the trends of one quantity, a node each.
func (t *timeline) quantity(group []verdict.Trend, top float64) {
	bottom := top + trendHeight
	low, high := t.span(group)
	y := func(v float64) float64 { return bottom - min(max((v-low)/(high-low), 0), 1)*trendHeight }
	step := niceStep(high-low, trendTicks)
	for v := ceilTo(low, step); v <= high; v += step {
		t.line("grid", plotLeft, y(v), plotRight, y(v))
		t.text("small right", plotLeft-6, y(v)+4, strconv.FormatFloat(v, 'g', 6, 64))
	}
	t.vertical("small middle", 14, (top+bottom)/2, quantityText(group[0]))
	t.line("axis", plotLeft, bottom, plotRight, bottom)
	for _, ns := range []int64{group[0].FromNS, group[0].ToNS} {
		x := t.x(float64(ns) / 1e9)
		t.line("judged", x, top, x, bottom)
	}
	at := float64(plotLeft)
	for i, tr := range group {
		class := fmt.Sprintf("node%d", i%nodeColours)
		t.curve("reading "+class, t.readings(tr, y))
		t.curve("level "+class, t.levels(tr, y))
		label := tr.Node + " " + trendText(tr)
		t.line("level "+class, at, top-9, at+14, top-9)
		t.text("small", at+18, top-5, label)
		at += 34 + charWidth*float64(len([]rune(label)))
	}
}

// span is the range of values of a panel: what was read while it was judged, and a
// twentieth around it at least, so that no noise looks like a mountain.
func (t *timeline) span(group []verdict.Trend) (low, high float64) {
	var all []float64
	for _, tr := range group {
		all = append(all, tr.Levels...)
		for _, r := range t.act.taken[taker{tr.Node, tr.Metric}] {
			if int64(r.at) >= tr.FromNS && int64(r.at) <= tr.ToNS {
				all = append(all, r.value)
			}
		}
	}
	if len(all) == 0 {
		return 0, 1
	}
	low, high = slices.Min(all), slices.Max(all)
	margin := max((high-low)/10, high/20, 0.5)
	return max(0, low-margin), high + margin
}

// readings are a curve of at most maxColumns points.
func (t *timeline) readings(tr verdict.Trend, y func(float64) float64) (curve []point) {
	list := t.act.taken[taker{tr.Node, tr.Metric}]
	per := max(1, (len(list)+maxColumns-1)/maxColumns)
	for i := 0; i < len(list); i += per {
		curve = append(curve, point{x: t.x(list[i].at.Seconds()), y: y(list[i].value)})
	}
	return curve
}

// levels are at the middle of the part of the time that each is of.
func (t *timeline) levels(tr verdict.Trend, y func(float64) float64) (curve []point) {
	part := float64(tr.ToNS-tr.FromNS) / float64(len(tr.Levels)) / 1e9
	for i, v := range tr.Levels {
		curve = append(curve, point{x: t.x(float64(tr.FromNS)/1e9 + (float64(i)+0.5)*part), y: y(v)})
	}
	return curve
}

// ceilTo is the least multiple of step that is not below v.
func ceilTo(v, step float64) float64 {
	n := float64(int64(v / step))
	if n*step < v {
		n++
	}
	return n * step
}

// quantityText is a quantity with the unit of its levels: memory MiB.
func quantityText(t verdict.Trend) string { return strings.TrimSpace(t.Quantity + " " + t.Unit) }

// trendText is a slope with its interval: +12.5 MiB/h (−3 to +28).
func trendText(t verdict.Trend) string {
	if len(t.Levels) == 0 {
		return "not told"
	}
	return fmt.Sprintf("%s (%s to %s)", slopeText(t), signed(t.Low), signed(t.High))
}

// slopeText is a slope alone: +12.5 MiB/h.
func slopeText(t verdict.Trend) string {
	space := " "
	if strings.HasPrefix(t.PerHour, "/") {
		space = ""
	}
	return signed(t.Slope) + space + t.PerHour
}

// signed is a number that says which way it goes.
func signed(v float64) string {
	text := strconv.FormatFloat(v, 'f', -1, 64)
	switch {
	case v > 0:
		return "+" + text
	case v < 0:
		return "−" + text[1:]
	}
	return "0"
}
