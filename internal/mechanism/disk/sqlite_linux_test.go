package disk

import (
	"bufio"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// A database that is known to keep its promises: each transaction is
// acknowledged by its number once it is committed.
const commits = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("pragma journal_mode=" + sys.argv[2])
db.execute("pragma synchronous=" + sys.argv[3])
db.execute("create table if not exists t(n integer primary key, b blob)")
n = db.execute("select coalesce(max(n), 0) from t").fetchone()[0]
while True:
    n += 1
    db.execute("insert into t values(?, randomblob(700))", (n,))
    print(n, flush=True)
`

const integrity = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1])
print(db.execute("pragma integrity_check").fetchone()[0], db.execute("select coalesce(max(n), 0) from t").fetchone()[0])
`

// TestSQLite accuses nobody falsely: SQLite loses nothing that it committed
// where its documentation says so, whatever survives (its files are mapped,
// locked, renamed and synced in every way). The same with its syncs turned off
// loses, and so does FULL where only EXTRA is documented to sync the directory
// of a deleted journal.
func TestSQLite(t *testing.T) {
	python := hosttest.Program(t, "python3")
	for _, test := range []struct {
		model         Model
		journal, sync string
		keeps         bool
	}{
		{Ext4(), "delete", "extra", true},
		{Strict(), "wal", "full", true},
		{Ext4(), "delete", "full", false},
		{Ext4(), "delete", "off", false},
	} {
		t.Run(fmt.Sprint(test.model.Name, " ", test.journal, " ", test.sync), func(t *testing.T) {
			t.Parallel()
			c, dir := started(t, never(test.model))
			p := program{t, dir}
			lost, dropped := 0, 0
			for seed, policy := range []Policy{LoseAll, Torn, Subset} {
				committed := commitUntil(t, c, 60+37*seed, python, "-c", commits, p.path("db"), test.journal, test.sync)
				o, err := c.Crash(t.Context(), Crash{Policy: policy, Seed: uint64(seed)})
				p.must(err)
				if !o.Dropped.Nothing() {
					dropped++
				}
				out, err := exec.Command(python, "-c", integrity, p.path("db")).Output()
				state, n, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
				if left, _ := strconv.Atoi(n); err != nil || state != "ok" || left < committed {
					lost++
					t.Logf("%s: %d committed, %s left, %s (%v)", policy, committed, n, state, err)
				}
				if err != nil || state != "ok" {
					break // it is of no use any more
				}
			}
			if dropped == 0 || (lost == 0) != test.keeps {
				t.Errorf("lost by %d crashes, of %d that took something", lost, dropped)
			}
		})
	}
}

// commitUntil runs a program until it has done n operations that change what a crash
// leaves, and kills it at the next one. It returns the last number that the program
// acknowledged.
func commitUntil(t *testing.T, c *Client, n int, argv ...string) int {
	t.Helper()
	p := program{t: t}
	p.must(c.Set(t.Context(), Faults{Rules: []Rule{{ID: "here", Ops: []Op{Write, Fsync, FsyncDir, Unlink, Truncate}, Skip: n, Hold: HoldBefore}}}))
	cmd := exec.Command(argv[0], argv[1:]...)
	out, err := cmd.StdoutPipe()
	p.must(err)
	p.start(cmd)
	_, err = c.Wait(t.Context(), "here")
	p.must(err)
	p.must(cmd.Process.Kill())
	last := 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		last, err = strconv.Atoi(lines.Text())
		p.must(err)
	}
	_ = cmd.Wait() // killed
	p.must(c.Set(t.Context(), Faults{}))
	return last
}
