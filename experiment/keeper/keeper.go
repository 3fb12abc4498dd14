package keeper

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

// maxSocketPath is what every system's kernel takes, with some to spare.
const maxSocketPath = 100

// KeeperMain is the hidden command keeper: it owns one experiment, made by
// run, and serves it on a unix socket until it is over. It is started by a
// guard, and ends at once when that is gone.
func KeeperMain(_ []string, run Runner) error {
	outlivePipes()
	words := &wordWriter{w: os.Stdout}
	os.Stdout = os.Stderr // what anybody prints belongs into the log
	err := keep(words, run)
	var denied deniedError
	switch {
	case errors.As(err, &denied):
		words.say(sayDenied, err.Error())
		return nil
	case err != nil:
		words.say(sayError, err.Error())
	}
	return err
}

func keep(words *wordWriter, run Runner) error {
	o, err := readOrder(os.Stdin)
	if err != nil {
		return err
	}
	me, err := thisProcess() // before /proc is our own
	if err != nil {
		return err
	}
	if o.Contained {
		if err := isolate(o.Isolation); err != nil {
			return deniedError{fmt.Errorf("isolate experiment: %w", err)}
		}
		go reapOrphans()
	}
	go beat(words)
	children := livePath(o.StateDir, o.ID, ".children")
	go endWithGuard(children)

	env := Env{
		ID: o.ID, Dir: runDir(o.StateDir, o.ID), StateDir: o.StateDir, Self: o.Self, Isolation: o.Isolation,
		Log:      slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Announce: func(int) error { return nil },
	}
	if !o.Contained {
		env.Announce = announcer(children)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	exp, err := run(ctx, env, o.Start)
	if err != nil {
		return err
	}
	listener, err := listen(o.StateDir, o.ID)
	if err != nil {
		return err
	}
	defer listener.Close()
	err = writeInfo(o.StateDir, Info{
		ID: o.ID, Dir: env.Dir, Scenario: o.Start.Scenario, Flavor: o.Start.Cluster.Flavor, Isolation: o.Isolation,
		Socket: listener.Addr().String(), Keeper: me, Guard: o.Guard, Started: time.Now().UTC(), Session: o.Start.Caller.Session,
	})
	if err != nil {
		return err
	}
	return serve(ctx, listener, exp, o.Start, env.Log, words)
}

// serve runs the experiment, and serves it as long as it runs.
func serve(ctx context.Context, l net.Listener, exp Experiment, start Start, log *slog.Logger, words *wordWriter) error {
	s := newServer(exp, start, log)
	go s.http.Serve(l)
	go stopOnSignal(ctx, exp, log)
	words.say(sayReady, "")
	err := exp.Run(ctx)
	s.over()
	if err != nil {
		return fmt.Errorf("run experiment: %w", err)
	}
	return nil
}

// beat tells the guard every second that this process is alive.
func beat(words *wordWriter) {
	for range time.Tick(time.Second) {
		words.say(sayBeat, "")
	}
}

// endWithGuard ends everything when the guard is gone: its end of the pipe
// closes. Linux kills the keeper before it can notice.
func endWithGuard(children string) {
	io.Copy(io.Discard, os.Stdin)
	killAnnounced(children)
	os.Exit(1)
}

// stopOnSignal ends an experiment in order when the host shuts down.
func stopOnSignal(ctx context.Context, exp Experiment, log *slog.Logger) {
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, os.Interrupt, syscall.SIGTERM)
	select {
	case <-ctx.Done():
	case s := <-quit:
		log.Warn("told to end", "signal", s.String())
		if _, err := exp.Stop(ctx, Caller{Via: "keeper", Tool: "signal"}); err != nil {
			log.Error("stop on signal", "error", err)
		}
	}
}

// listen opens the keeper's socket, in live/ where the path is not too long
// for the kernel.
func listen(stateDir, id string) (net.Listener, error) {
	path := livePath(stateDir, id, ".sock")
	if len(path) > maxSocketPath {
		dir := socketDir(stateDir, id)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open socket: %w", err)
		}
		path = filepath.Join(dir, "sock")
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	return l, nil
}

// socketDir is where the socket is otherwise: short, and known to whoever
// cleans up.
func socketDir(stateDir, id string) string {
	dir := runDir(stateDir, id)
	if full, err := filepath.Abs(dir); err == nil {
		dir = full
	}
	sum := sha256.Sum256([]byte(dir))
	return filepath.Join(os.TempDir(), fmt.Sprintf("rmq-mcp-%x", sum[:6]))
}
