package keeper

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"
	"github.com/shirou/gopsutil/v3/process"
)

// A keeper that is silent and idle for silence seconds of the guard is killed.
// If it works, on a host that starves it, these seconds count only after
// patience seconds of silence.
const (
	silence  = 5
	patience = 30
)

// brokersBound is how long a run waits for brokers that another run holds.
const brokersBound = 5 * time.Second

// A level is one way to start a keeper, from the most isolated down.
type level struct {
	isolation string
	contained bool            // in a pid namespace: the kernel ends its children with it
	apply     func(*exec.Cmd) // what the clone needs; nil for a plain child
}

// GuardMain is the hidden command guard: the keeper's parent, outside its
// namespaces and hardly more than a timer. It starts the keeper, kills it when
// it is silent and does nothing, and when it is gone, in whatever way, ends
// what remains of the experiment and calls recover to replay the undo journal
// of the run directory.
func GuardMain(_ []string, recover func(runDir string) error) error {
	runtime.LockOSThread() // the keeper dies with the thread that started it
	outlivePipes()
	o, err := readOrder(os.Stdin)
	if err != nil {
		return err
	}
	g := guard{order: o, recover: recover, caller: os.Stdout, log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	os.Stdout = os.Stderr // what anybody prints belongs into the log
	if err := g.main(); err != nil {
		g.answer(sayError, err.Error())
		return err
	}
	return nil
}

type guard struct {
	order
	recover func(runDir string) error
	log     *slog.Logger

	caller   *os.File // who started it listens there for one word
	answered sync.Once
}

func (g *guard) main() error {
	lock, err := g.lock()
	if err != nil {
		return err
	}
	defer lock.Close()
	if g.Guard, err = thisProcess(); err != nil {
		return err
	}
	waiting, cancel := context.WithTimeout(context.Background(), brokersBound)
	defer cancel()
	release, err := holdBrokers(waiting, g.StateDir, g.Start.Cluster, g.Alone)
	if err != nil {
		finishRun(lock) // nothing was begun
		return err
	}
	defer release()
	kept := g.keep()
	if err := g.cleanUp(); err != nil {
		return errors.Join(kept, fmt.Errorf("heal %s: %w", g.ID, err))
	}
	finishRun(lock)
	return kept
}

// lock waits for whoever looks at the run's new lock, whether it is a dead
// one's: that takes them an instant.
func (g *guard) lock() (*flock.Flock, error) {
	for range 100 {
		if lock, err := lockRun(g.StateDir, g.ID, os.O_CREATE); lock != nil || err != nil {
			return lock, err
		}
		time.Sleep(50 * time.Millisecond)
	}
	return nil, fmt.Errorf("run %s is locked by another process", g.ID)
}

// cleanUp leaves nothing of an experiment whose keeper is gone, except its run
// directory where something was recorded.
func (g *guard) cleanUp() error {
	err := errors.Join(
		killOrphans(),
		killAnnounced(livePath(g.StateDir, g.ID, ".children")),
		g.recover(runDir(g.StateDir, g.ID)),
	)
	removeEntry(g.StateDir, g.ID)
	removeEmptyRun(runDir(g.StateDir, g.ID))
	return err
}

// keep runs a keeper to its end, as isolated as the host allows.
func (g *guard) keep() error {
	levels := levels(g.Isolation)
	for i, l := range levels {
		err := g.keepAt(l)
		var denied deniedError
		if !errors.As(err, &denied) || i == len(levels)-1 {
			return err
		}
		g.log.Warn("isolation denied", "isolation", l.isolation, "why", err)
	}
	return fmt.Errorf("no isolation %q; it is namespaces, loopback or host", g.Isolation)
}

// A deniedError says that the host does not allow a level.
type deniedError struct{ error }

func (g *guard) keepAt(l level) error {
	o := g.order
	o.Isolation, o.Contained = l.isolation, l.contained
	if !l.contained {
		adoptOrphans()
	}
	cmd := exec.Command(o.Self[0], append(o.Self[1:len(o.Self):len(o.Self)], "keeper", o.ID)...)
	cmd.Stderr = os.Stderr
	dieWithParent(cmd)
	if l.apply != nil {
		l.apply(cmd)
	}
	said, words, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("start keeper: %w", err)
	}
	defer said.Close()
	cmd.Stdout = words
	orders, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	words.Close()
	if err != nil {
		err = fmt.Errorf("start keeper: %w", err)
		if l.apply != nil {
			return deniedError{err}
		}
		return err
	}
	// The pipe stays open: its end tells the keeper that the guard is gone.
	defer orders.Close()
	go json.NewEncoder(orders).Encode(o)
	return g.watch(cmd.Process, said)
}

// watch is the timer. It returns when the keeper is gone.
func (g *guard) watch(keeper *os.Process, said io.Reader) error {
	words := follow(keeper, said)
	quit := make(chan os.Signal, 1)
	signal.Notify(quit, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(quit)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()

	var end error // why it ended, where it said so
	// Silence is counted in ticks of the guard's own: a host that stops both
	// of them for a while is not a dead keeper.
	works := working(keeper.Pid)
	for quiet, late := 0, 0; ; {
		select {
		case <-tick.C:
			if late++; works() && late < patience {
				continue
			}
			if quiet++; quiet%silence == 0 {
				g.silenced(keeper, quiet)
			}
		case s := <-quit:
			g.log.Warn("told to end", "signal", s.String())
			keeper.Signal(syscall.SIGTERM)
		case w := <-words:
			quiet, late = 0, 0
			switch w.Say {
			case sayReady:
				g.answer(sayReady, "")
			case sayDenied:
				end = deniedError{errors.New(w.Text)}
			case sayError:
				end = errors.New(w.Text)
			case sayGone:
				g.log.Info("keeper ended", "how", w.Text)
				if end == nil && w.Text != "exit status 0" {
					log := filepath.Join(runDir(g.StateDir, g.ID), "keeper.log")
					end = fmt.Errorf("the keeper of %s ended: %s; its log ends:\n%s", g.ID, w.Text, tail(log, 10))
				}
				return end
			}
		}
	}
}

// working answers a function that reports whether a process has had any processor
// time since it was asked last.
func working(pid int) func() bool {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return func() bool { return false } // it is gone
	}
	last := 0.0
	return func() bool {
		t, err := p.Times()
		if err != nil {
			return false
		}
		before := last
		last = t.User + t.System
		return last > before
	}
}

// silenced kills a keeper that is silent.
func (g *guard) silenced(keeper *os.Process, seconds int) {
	g.log.Error("keeper is silent, killing it", "seconds", seconds)
	keeper.Kill()
	if seconds == silence {
		return
	}
	// Something holds it, a file system of ours perhaps, that the journal
	// knows how to let go of.
	if err := g.recover(runDir(g.StateDir, g.ID)); err != nil {
		g.log.Error("heal a keeper that does not die", "error", err)
	}
}

// follow passes on what a keeper says, and at last that it is gone.
func follow(keeper *os.Process, said io.Reader) <-chan word {
	words := make(chan word)
	go func() {
		for lines := bufio.NewScanner(said); lines.Scan(); {
			var w word
			if json.Unmarshal(lines.Bytes(), &w) == nil {
				words <- w
			}
		}
		state, err := keeper.Wait()
		if err != nil {
			words <- word{sayGone, err.Error()}
			return
		}
		words <- word{sayGone, state.String()}
	}()
	return words
}

// answer tells whoever started the guard how that went, once.
func (g *guard) answer(say, text string) {
	g.answered.Do(func() {
		m := wordWriter{w: g.caller}
		m.say(say, text)
		g.caller.Close()
	})
}
