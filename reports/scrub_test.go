package reports

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/secret"
)

func TestScrubLogsInPlace(t *testing.T) {
	dir := t.TempDir()
	logs := filepath.Join(dir, EvidenceDir, LogsDir)
	must(t, os.MkdirAll(logs, 0o755))
	must(t, os.WriteFile(filepath.Join(logs, "a.log"), []byte("x\npassword=1a\nlast line: token=zz"), 0o644))
	must(t, os.WriteFile(filepath.Join(logs, "b.log"), []byte("x\n"), 0o644))
	n, err := scrubLogs(dir, secret.New())
	must(t, err)
	if got := read(t, filepath.Join(logs, "a.log")); n != 2 || got != "x\npassword=[scrubbed]\nlast line: token=[scrubbed]" {
		t.Errorf("%d lines changed, the log is %q", n, got)
	}
	if entries, err := os.ReadDir(logs); err != nil || len(entries) != 2 {
		t.Errorf("something was left behind: %v, %v", entries, err)
	}
	if n, err := scrubLogs(t.TempDir(), secret.New()); n != 0 || err != nil {
		t.Errorf("a run without logs: %d, %v", n, err)
	}
}
