package reports

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/figures"
)

// svg writes a picture's elements. Coordinates have one decimal, so that the
// same data is the same bytes everywhere.
type svg struct{ strings.Builder }

func (s *svg) rect(class string, x, y, w, h float64) {
	fmt.Fprintf(s, "<rect class=%q x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", class, x, y, w, h)
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(s, "<line class=%q x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class, x1, y1, x2, y2)
}

func (s *svg) text(class string, x, y float64, text string) {
	fmt.Fprintf(s, "<text class=%q x=\"%.1f\" y=\"%.1f\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// vertical writes text upwards, centred on y.
func (s *svg) vertical(class string, x, y float64, text string) {
	fmt.Fprintf(s, "<text class=%q transform=\"translate(%.1f %.1f) rotate(-90)\">%s</text>\n", class, x, y, html.EscapeString(text))
}

// mark is a small triangle that points up at x.
func (s *svg) mark(class string, x, y float64) {
	fmt.Fprintf(s, "<path class=%q d=\"M%.1f %.1fl4 8h-8z\"/>\n", class, x, y)
}

// point of a curve; a gap where there is no value.
type point struct {
	x, y float64
	gap  bool
}

func (s *svg) curve(class string, points []point) {
	fmt.Fprintf(s, "<path class=%q d=\"", class)
	pen := "M"
	for i, p := range points {
		if p.gap {
			pen = "M"
			continue
		}
		fmt.Fprintf(s, "%s%.1f %.1f", pen, p.x, p.y)
		if alone := pen == "M" && (i+1 == len(points) || points[i+1].gap); alone {
			s.WriteString("h0.1") // a line cap makes it a dot
		}
		pen = "L"
	}
	s.WriteString("\"/>\n")
}

// niceStep is the smallest of 1, 2, 5 × 10ⁿ that cuts span into at most n.
func niceStep(span float64, n int) float64 {
	raw := span / float64(n)
	power := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, f := range []float64{1, 2, 5} {
		if f*power >= raw*(1-1e-9) {
			return f * power
		}
	}
	return 10 * power
}

// thousands writes 12345 as 12,345.
func thousands(n int64) string { return figures.Sprintf("%d", n) }
