package journal_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history/journal"
)

// write makes a journal of three entries and closes it.
func write(t *testing.T) (path, head string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path)
	for _, data := range []any{map[string]any{"tool": "inject_fault"}, "a\n\"quoted\" <b>", nil} {
		if _, err := j.Append(journal.KindNote, data); err != nil {
			t.Fatal(err)
		}
	}
	head, n := j.Head()
	if n != 3 {
		t.Fatalf("%d entries", n)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	return path, head
}

func open(t *testing.T, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.Close() })
	return j
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestWhatIsAppendedIsRead(t *testing.T) {
	path, head := write(t)
	entries, err := journal.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, e := range entries {
		if e.N != i || e.Kind != journal.KindNote || e.Time.IsZero() || e.MonoNS == 0 {
			t.Errorf("entry %d is %+v", i, e)
		}
		got = append(got, string(e.Data))
	}
	want := []string{`{"tool":"inject_fault"}`, `"a\n\"quoted\" \u003cb\u003e"`, `null`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("data (-appended +read):\n%s", diff)
	}
	if verified, n, err := journal.Verify(path); verified != head || n != 3 || err != nil {
		t.Errorf("Verify: %s, %d, %v; want head %s", verified, n, err, head)
	}
}

// TestChainIsAsDocumented checks it by the package comment's words alone.
func TestChainIsAsDocumented(t *testing.T) {
	path, head := write(t)
	prev := ""
	for line := range bytes.Lines(read(t, path)) {
		var e journal.Entry
		if err := json.Unmarshal(line, &e); err != nil {
			t.Fatal(err)
		}
		before, _, _ := bytes.Cut(line, []byte(`,"hash":`))
		if want := sha(append(bytes.Clone(before), '}')); e.Hash != want {
			t.Errorf("entry %d has hash %s, want %s", e.N, e.Hash, want)
		}
		if e.Prev != prev {
			t.Errorf("entry %d has prev %s, want %s", e.N, e.Prev, prev)
		}
		prev = sha(line)
	}
	if head != prev {
		t.Errorf("head %s, want %s", head, prev)
	}
}

func TestEveryChangedByteIsFound(t *testing.T) {
	path, _ := write(t)
	whole := read(t, path)
	line := 0
	for at := range whole {
		changed := bytes.Clone(whole)
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o644); err != nil {
			t.Fatal(err)
		}
		_, n, err := journal.Verify(path)
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("entry %d is broken", line)) || n != line {
			t.Fatalf("byte %d, of entry %d: %d sound, %v", at, line, n, err)
		}
		if whole[at] == '\n' {
			line++
		}
	}
}

func TestTampering(t *testing.T) {
	path, head := write(t)
	lines := bytes.SplitAfter(read(t, path), []byte("\n"))
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	tests := []struct {
		name   string
		data   []byte
		broken string // "" where only the head tells
	}{
		{"first removed", join(lines[1], lines[2]), "entry 0"},
		{"middle removed", join(lines[0], lines[2]), "entry 1"},
		{"swapped", join(lines[0], lines[2], lines[1]), "entry 1"},
		{"repeated", join(lines[0], lines[0]), "entry 1"},
		{"an empty line", join(lines[0], []byte("\n"), lines[1]), "entry 1"},
		{"last removed", join(lines[0], lines[1]), ""},
		{"all removed", nil, ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := os.WriteFile(path, test.data, 0o644); err != nil {
				t.Fatal(err)
			}
			got, _, err := journal.Verify(path)
			if test.broken == "" {
				if err != nil || got == head {
					t.Errorf("Verify: %s, %v; want another head", got, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), test.broken) {
				t.Errorf("Verify: %v; want %s", err, test.broken)
			}
			if j, err := journal.Open(path); err == nil {
				j.Close()
				t.Error("a broken journal is continued")
			}
			if !bytes.Equal(read(t, path), test.data) {
				t.Error("a broken journal was changed")
			}
		})
	}
}

// TestTornAnywhere cuts a journal at every byte, as a crash might, and goes on.
func TestTornAnywhere(t *testing.T) {
	path, _ := write(t)
	whole := read(t, path)
	last := bytes.LastIndexByte(whole[:len(whole)-1], '\n') + 1
	for size := last; size <= len(whole); size++ {
		if err := os.WriteFile(path, whole[:size], 0o644); err != nil {
			t.Fatal(err)
		}
		torn := size > last && size < len(whole)
		if _, _, err := journal.Verify(path); (err != nil) != torn {
			t.Fatalf("cut at %d: Verify: %v", size, err)
		}
		j := open(t, path)
		if _, err := j.Append(journal.KindNote, "goes on"); err != nil {
			t.Fatal(err)
		}
		j.Close()
		entries, err := journal.Read(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", size, err)
		}
		recovered := entries[len(entries)-2]
		if want := fmt.Sprintf(`{"cut_bytes":%d}`, size-last); torn && (recovered.Kind != journal.KindRecovered || string(recovered.Data) != want) {
			t.Fatalf("cut at %d: %+v, want %s", size, recovered, want)
		}
		if !torn && recovered.Kind == journal.KindRecovered {
			t.Fatalf("cut at %d: recovered from nothing", size)
		}
	}
}

func TestConcurrentAppend(t *testing.T) {
	const writers, each = 4, 10
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	j := open(t, path)
	seen := make([]bool, writers*each)
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range writers {
		wg.Go(func() {
			for range each {
				n, err := j.Append(journal.KindCall, nil)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				seen[n] = true
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	for n, ok := range seen {
		if !ok {
			t.Errorf("nobody was answered %d", n)
		}
	}
	if _, n, err := journal.Verify(path); n != len(seen) || err != nil {
		t.Errorf("Verify: %d entries, %v", n, err)
	}
}

func TestOneWriter(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	first := open(t, path)
	if second, err := journal.Open(path); err == nil || !strings.Contains(err.Error(), "another process") {
		second.Close()
		t.Errorf("Open: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := first.Append(journal.KindNote, nil); err == nil {
		t.Error("a closed journal is written")
	}
	open(t, path)
}

func TestAppendRefusesWhatIsNotJSON(t *testing.T) {
	j := open(t, filepath.Join(t.TempDir(), "journal.jsonl"))
	if _, err := j.Append(journal.KindNote, func() {}); err == nil {
		t.Error("a function was journaled")
	}
	if n, err := j.Append(journal.KindNote, "next"); n != 0 || err != nil {
		t.Errorf("the next entry is %d, %v", n, err)
	}
}

func TestVerifyNothing(t *testing.T) {
	if _, _, err := journal.Verify(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "list runs") {
		t.Errorf("Verify: %v", err)
	}
}

func BenchmarkAppend(b *testing.B) {
	j, err := journal.Open(filepath.Join(b.TempDir(), "journal.jsonl"))
	if err != nil {
		b.Fatal(err)
	}
	defer j.Close()
	for b.Loop() {
		if _, err := j.Append(journal.KindCall, map[string]string{"tool": "inject_fault"}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "entries/s")
}
