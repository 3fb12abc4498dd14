package site

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A log past its bound is shown from both ends, with the numbers that its lines have in the
// file, packed or not.
func TestLongLog(t *testing.T) {
	dir, n := t.TempDir(), 100_000
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "line %d of a node \x1b[31mthat\x1b[0m says very much, %s\n", i+1, strings.Repeat("x", 60))
	}
	text.WriteString(strings.Repeat("y", 3*mostOfLine)) // without an end
	plain, packed := filepath.Join(dir, "a.log"), filepath.Join(dir, "b.log")
	must(t, os.WriteFile(plain, []byte(text.String()), 0o644))
	z, err := stored.Pack(strings.NewReader(text.String()), 1<<30)
	must(t, err)
	must(t, os.WriteFile(packed+stored.Packed, z, 0o644))
	for _, file := range []string{plain, packed} {
		d, left, err := readLog(file)
		must(t, err)
		bytes := 0
		for i, line := range d.Lines {
			bytes += len(line)
			if d.Numbers[i] <= n && !strings.HasPrefix(line, fmt.Sprintf("line %d of a node that says", d.Numbers[i])) {
				t.Fatalf("%s: line %d is %.50q", file, d.Numbers[i], line)
			}
		}
		last := len(d.Lines) - 1
		if d.Numbers[0] != 1 || d.Numbers[last] != n+1 || len(d.Lines[last]) > mostOfLine+50 || bytes > mostOfLog {
			t.Errorf("%s: %d to %d, %d bytes, the last line has %d", file, d.Numbers[0], d.Numbers[last], bytes, len(d.Lines[last]))
		}
		var from, to int
		if _, err := fmt.Sscanf(left, "Lines %d to %d are", &from, &to); err != nil || len(d.Lines) != n+1-(to-from+1) {
			t.Errorf("%s: %q beside %d lines", file, left, len(d.Lines))
		}
	}
	d, left, err := readLog(os.DevNull)
	if err == nil { // no regular file
		t.Errorf("%+v, %q", d, left)
	}
}
