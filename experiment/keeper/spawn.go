package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/environ"
)

// SpawnOptions say what to start, and where.
type SpawnOptions struct {
	StateDir  string
	Self      []string // argv that executes this binary; it must have the hidden commands guard and keeper
	Start     Start
	Isolation string // "": namespaces where the host allows them, host for external brokers, else loopback
	Alone     bool   // no other run may use its external brokers meanwhile
}

// spawnBound is how long a keeper may take until its socket answers. The
// cluster starts after that.
const spawnBound = time.Minute

// Spawn starts an experiment in processes of its own, which outlive the
// caller, its terminal and its signals, and connects to it. The error of a
// Start that cannot be carried out is the Runner's own.
func Spawn(ctx context.Context, o SpawnOptions) (*Client, error) {
	if err := OpenState(o.StateDir); err != nil {
		return nil, err
	}
	stateDir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return nil, fmt.Errorf("start experiment: %w", err)
	}
	id, err := newRun(stateDir, o.Start.Scenario, time.Now())
	if err != nil {
		return nil, err
	}
	ask := newOrder(o.Start)
	ask.ID, ask.StateDir, ask.Self, ask.Isolation, ask.Alone = id, stateDir, o.Self, isolationFor(o), o.Alone
	err = startGuard(ctx, ask)
	if err != nil {
		removeEmptyRun(runDir(stateDir, id))
		return nil, err
	}
	return Connect(stateDir, id)
}

// isolationFor keeps the clients of external brokers, and of pods, in the host's network:
// the star has no uplink. Processes of the host can only be signalled from
// outside a pid namespace.
func isolationFor(o SpawnOptions) string {
	if o.Isolation == "" && len(o.Start.Cluster.PIDs) > 0 {
		return IsolationLoopback
	}
	if c := o.Start.Cluster; o.Isolation == "" && (c.Foreign() || c.Beyond() || len(c.Endpoints) > 0) {
		return IsolationHost
	}
	return o.Isolation
}

// startGuard returns when the guard's keeper is ready. On any error the guard
// is gone.
func startGuard(ctx context.Context, o order) error {
	logPath := filepath.Join(runDir(o.StateDir, o.ID), "keeper.log")
	log, err := os.OpenFile(logPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("start experiment: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(o.Self[0], append(o.Self[1:len(o.Self):len(o.Self)], "guard", o.ID)...)
	cmd.Stderr = log
	cmd.Env = environ.Own() // the keeper's too, and of all that it starts of ours
	Detach(cmd)
	answers, heard, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start experiment: %w", err)
	}
	defer answers.Close()
	cmd.Stdout = heard
	orders, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	heard.Close()
	if err != nil {
		return fmt.Errorf("start experiment: %w", err)
	}
	exited := make(chan struct{})
	go func() { cmd.Wait(); close(exited) }()

	err = json.NewEncoder(orders).Encode(o)
	err = errors.Join(err, orders.Close())
	if err == nil {
		err = awaitReady(ctx, answers, logPath)
	}
	if err != nil {
		select { // it says why before it has cleaned up
		case <-exited:
		case <-time.After(2 * time.Second):
			cmd.Process.Kill()
			<-exited
		}
	}
	return err
}

// awaitReady waits for the guard's one word.
func awaitReady(ctx context.Context, answers *os.File, logPath string) error {
	heard := make(chan word, 1)
	go func() {
		defer close(heard)
		lines := bufio.NewScanner(answers)
		var w word
		if lines.Scan() && json.Unmarshal(lines.Bytes(), &w) == nil {
			heard <- w
		}
	}()
	var why string
	select {
	case w, ok := <-heard:
		switch {
		case ok && w.Say == sayReady:
			return nil
		case ok:
			return errors.New(w.Text)
		}
		why = "its keeper ended before it was ready"
	case <-ctx.Done():
		return fmt.Errorf("start experiment: %w", ctx.Err())
	case <-time.After(spawnBound):
		why = fmt.Sprintf("its keeper was not ready after %v", spawnBound)
	}
	return fmt.Errorf("start experiment: %s; its log ends:\n%s", why, tail(logPath, 10))
}

// tail answers the last lines of a log, or the first of a panic.
func tail(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "panic: ") })
	if at < 0 {
		at = max(0, len(lines)-n)
	}
	return strings.Join(lines[at:min(len(lines), at+n)], "\n")
}

// removeEmptyRun removes the directory of a run that never began.
func removeEmptyRun(dir string) {
	files, err := os.ReadDir(dir)
	if err == nil && (len(files) == 0 || len(files) == 1 && files[0].Name() == "keeper.log") {
		os.RemoveAll(dir)
	}
}
