package cluster

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestFollow(t *testing.T) {
	dir := t.TempDir()
	n := &Node{name: "node-1", log: filepath.Join(dir, "node-1.log")}
	if err := os.WriteFile(n.log, []byte("one\ntw"), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	c := &Cluster{plan: &plan{nodes: []*Node{n}}}
	var got []string
	done := c.Follow(ctx, func(_, line string, _ time.Time) {
		got = append(got, line)
		switch line {
		case "one":
			f, _ := openLog(n.log, false)
			f.WriteString("o\npassword=hunter2\nthree\n")
			f.Close()
		case "three":
			cancel()
		}
	})
	select {
	case <-done:
	case <-time.After(testBound):
		t.Fatal("the last line was not seen")
	}
	if diff := cmp.Diff([]string{"one", "two", "password=[scrubbed]", "three"}, got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

// A broker that writes no end of a line costs no more than a line.
func TestFollowALineWithoutEnd(t *testing.T) {
	log := filepath.Join(t.TempDir(), "node-1.log")
	text := "one\n" + strings.Repeat("x", 3*mostLine) + "\r\ntwo\r\n" + strings.Repeat("y", 2*mostLine)
	if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	var got []string
	f := newFollower("node-1")
	defer func() { f.file.Close() }()
	f.read(log, func(_, line string, _ time.Time) { got = append(got, line) })
	want := []string{"one", strings.Repeat("x", mostLine), "two", strings.Repeat("y", mostLine)}
	if diff := cmp.Diff(want, got); diff != "" || len(f.partial) > mostLine {
		t.Errorf("%d lines, %d bytes are kept (-want +got):\n%.500s", len(got), len(f.partial), diff)
	}
}

// The quoted tail of a log goes into errors and reports.
func TestTailHasNoSecret(t *testing.T) {
	log := filepath.Join(t.TempDir(), "node-1.log")
	if err := os.WriteFile(log, []byte("starts\ncannot log in: password=hunter2\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, want := tail(log), "  starts\n  cannot log in: password=[scrubbed]"; got != want {
		t.Errorf("the tail is %q, want %q", got, want)
	}
	// The first line that is read may lack the name in front of a secret.
	long := strings.Repeat("token=hunter2 ", tailBytes) + "\n"
	for text, want := range map[string]string{long + "ends\n": "  ends", long: "  (its last line is longer than 8 KiB)"} {
		if err := os.WriteFile(log, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if got := tail(log); got != want {
			t.Errorf("the tail is %q, want %q", got, want)
		}
	}
}
