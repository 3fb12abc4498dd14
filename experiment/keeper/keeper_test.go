package keeper

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestExperiment(t *testing.T) {
	ctx, dir := t.Context(), stateDir(t)
	c := spawn(t, SpawnOptions{StateDir: dir, Start: Start{}})
	if !strings.Contains(c.Info().ID, "-hand-") {
		t.Errorf("id %q does not say that it is driven by hand", c.Info().ID)
	}

	fault, err := c.Inject(ctx, Inject{Type: "pause", Target: "node-1"})
	if diff := cmp.Diff(FaultStatus{ID: "f1", Type: "pause", Target: "node-1"}, fault); err != nil || diff != "" {
		t.Errorf("Inject: %v\n%s", err, diff)
	}
	if _, err := c.Inject(ctx, Inject{Type: "melt"}); err == nil || err.Error() != `no fault "melt"; there is pause` {
		t.Errorf("Inject(melt) = %v", err)
	}

	other, err := Connect(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if st, err := other.Status(ctx); err != nil || len(st.Faults) != 1 || !st.Live {
		t.Errorf("Status of another client = %+v, %v, want one fault, live", st, err)
	}
	if st, err := other.Heal(ctx, Heal{Fault: "f1"}); err != nil || st.ID != "f1" {
		t.Errorf("Heal = %+v, %v", st, err)
	}
	if st, err := other.RunClient(ctx, RunClient{SDK: "go@1"}); err != nil || st.SDK != "go@1" {
		t.Errorf("RunClient = %+v, %v", st, err)
	}
	if m, err := other.Metrics(ctx, Metrics{Node: "node-2"}); err != nil || m.Metrics[0].Node != "node-2" {
		t.Errorf("Metrics = %+v, %v", m, err)
	}
	if err := other.Journal(ctx, Caller{Tool: "get_run"}, "fine"); err != nil {
		t.Errorf("Journal = %v", err)
	}
	if st, _ := c.Status(ctx); st.Error != "get_run=fine" {
		t.Errorf("journalled %q, want get_run=fine", st.Error)
	}

	watched := make(chan []string)
	go func() {
		var phases []string
		err := other.Watch(ctx, func(p Progress) { phases = append(phases, p.Phase) })
		if err != nil {
			phases = append(phases, err.Error())
		}
		watched <- phases
	}()
	eventually(t, hosttest.Bound, "watched", func() bool {
		st, err := c.Status(ctx)
		return err == nil && st.Counts.Received == 1
	})
	again, err := c.Wait(ctx, hosttest.Bound) // of one that is ready: at once
	if err != nil || again.Phase != history.PhaseReady {
		t.Errorf("Wait = %q, %v", again.Phase, err)
	}
	if st, err := c.Stop(ctx, Caller{Tool: "stop_run"}); err != nil || st.Phase != history.PhaseDone {
		t.Errorf("Stop = %+v, %v", st, err)
	}
	if diff := cmp.Diff([]string{history.PhaseDone}, <-watched); diff != "" {
		t.Errorf("watched (-want +got):\n%s", diff)
	}
	<-c.Gone()
	eventually(t, hosttest.Bound, "gone, and where the run is", func() bool { // its process ends a moment after its last word
		_, err := c.Status(ctx)
		return errors.Is(err, ErrGone) && strings.Contains(err.Error(), c.Info().Dir)
	})
	if err := Settled(ctx, dir, c.Info().ID); err != nil {
		t.Errorf("Settled = %v", err)
	}
	if files, err := os.ReadDir(filepath.Join(dir, "live")); err != nil || len(files) > 0 {
		t.Errorf("live/ has %v, %v after it has settled", files, err)
	}
	nothingLeft(t, dir)
	if _, err := os.Stat(filepath.Join(c.Info().Dir, "recovered")); err != nil {
		t.Errorf("the undo journal was not replayed: %v", err)
	}
}

func TestForward(t *testing.T) {
	c := spawn(t, SpawnOptions{StateDir: stateDir(t)})
	if _, err := c.Forward(t.Context(), "node-9", 1); err == nil || err.Error() != `no node "node-9"; there is node-1` {
		t.Errorf("Forward(node-9) = %v", err)
	}
	conn, err := c.Forward(t.Context(), "node-1", 1883)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	io.WriteString(conn, "hello")
	if err := closeWrite(conn); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "node-1:1883 hello" {
		t.Errorf("read %q, %v", got, err)
	}
}

func TestSpawnTellsWhy(t *testing.T) {
	for _, c := range []struct{ scenario, want string }{
		{"no/such", `no scenario "no/such"; call list_scenarios`},
		{"panics", "a broken harness"},
	} {
		dir := stateDir(t)
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		_, err = Spawn(t.Context(), SpawnOptions{StateDir: dir, Self: []string{exe}, Start: Start{Scenario: c.scenario}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Spawn(%s) = %v, want %s", c.scenario, err, c.want)
		}
		nothingLeft(t, dir)
	}
}

// A socket's path must fit into 108 bytes, a state directory's need not.
func TestLongStateDir(t *testing.T) {
	dir := filepath.Join(stateDir(t), strings.Repeat("long/", 20))
	c := spawn(t, SpawnOptions{StateDir: dir})
	socket := c.Info().Socket
	if _, err := c.Stop(t.Context(), Caller{}); err != nil {
		t.Fatal(err)
	}
	nothingLeft(t, dir)
	if _, err := os.Stat(filepath.Dir(socket)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("directory of the socket %s: %v", socket, err)
	}
}

func TestConnectErrors(t *testing.T) {
	two := []Info{{ID: "a"}, {ID: "b"}}
	for _, c := range []struct {
		live     []Info
		id, want string
	}{
		{nil, "", "no experiment is live; start one"},
		{nil, "a", "experiment a is not live, nor is any other"},
		{two, "", "2 experiments are live, say which one: a, b"},
		{two, "c", "experiment c is not live; live are: a, b"},
		{two, "b", ""},
		{two[:1], "", ""},
	} {
		_, err := choose(c.live, c.id)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want)) {
			t.Errorf("choose(%d live, %q) = %v, want %q", len(c.live), c.id, err, c.want)
		}
	}
}

func TestOpenState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	for range 2 { // and again where somebody deleted all runs
		if err := OpenState(dir); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, "runs")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "version"), []byte("7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := OpenState(dir); err == nil || !strings.Contains(err.Error(), `version "7"`) {
		t.Errorf("OpenState of version 7 = %v", err)
	}
}

// A directory that is somebody else's is refused, and nothing in it is changed.
func TestStateOfSomebodyElse(t *testing.T) {
	for _, has := range []string{"README.md", "runs/a", "live/x.lock", "cache/driver", "version2"} {
		dir := t.TempDir()
		path := filepath.Join(dir, has)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		before := listed(t, dir)
		if err := OpenState(dir); err == nil || !strings.Contains(err.Error(), "not a state directory") {
			t.Errorf("%s: %v", has, err)
		}
		if after := listed(t, dir); !slices.Equal(before, after) {
			t.Errorf("%s: %v before, %v after", has, before, after)
		}
	}
	// If two processes make a state directory at the same time, each may see
	// the other's unfinished one.
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := OpenState(dir); err != nil {
		t.Error(err)
	}
}

// A directory among the runs that this program did not make stays.
func TestNothingForeignIsRemoved(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	if err := OpenState(dir); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Hour)
	for _, name := range []string{"a", "notes", "1125-0203-hand-808d"} {
		path := runDir(dir, name)
		if err := errors.Join(os.Mkdir(path, 0o700), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := HealDead(dir, func(string) error { return nil }); err != nil {
		t.Error(err)
	}
	left, err := os.ReadDir(filepath.Join(dir, "runs"))
	if err != nil || len(left) != 2 || left[0].Name() != "a" || left[1].Name() != "notes" {
		t.Errorf("left are %v, %v", left, err)
	}
}

// listed are all paths below a directory.
func listed(t *testing.T, dir string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// nothingLeft checks that an experiment is gone, as far as every system can
// tell; the files in live/ are the last to go.
func nothingLeft(t *testing.T, dir string) {
	t.Helper()
	eventually(t, hosttest.Bound, "live/ is empty", func() bool {
		if live, err := List(dir); err != nil || len(live) > 0 {
			return false
		}
		files, err := os.ReadDir(filepath.Join(dir, "live"))
		return err == nil && len(files) == 0
	})
}

// TestDeserted: what is being put in place while the last one leaves is healed
// too.
func TestDeserted(t *testing.T) {
	exp := &fake{}
	p := newPresence(exp, Start{}, slog.New(slog.DiscardHandler))
	defer p.end()
	inject := func() {
		if _, err := exp.Inject(t.Context(), Inject{Type: "pause"}); err != nil {
			t.Fatal(err)
		}
	}
	healed := func() bool { return len(exp.Status(t.Context()).Faults) == 0 }
	p.come()
	inject()
	done := p.act()
	p.leave()
	eventually(t, hosttest.Bound, "healed", healed)
	inject()
	eventually(t, hosttest.Bound, "healed while another is put in place", healed)
	done()
	done = p.act() // asked for by who had left already
	inject()
	eventually(t, hosttest.Bound, "healed what came late", healed)
	done()
}
