package disk

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

// Set makes the layer disturb by exactly these faults. Rules that were set
// before, unchanged, go on counting; holds of rules that are gone end.
func (c *Client) Set(ctx context.Context, faults Faults) error {
	if err := faults.Check(); err != nil {
		return fmt.Errorf("disk of %s: %w", c.info.Mount, err)
	}
	return c.ask(ctx, doFaults, faults, nil)
}

// Stats counts the operations and the hits of the rules.
func (c *Client) Stats(ctx context.Context) (Stats, error) {
	var s Stats
	return s, c.ask(ctx, doStats, nil, &s)
}

// Report says what is not durable. Freeze the broker first, or it is a glance
// at what moves.
func (c *Client) Report(ctx context.Context) (Pending, error) {
	var p Pending
	return p, c.ask(ctx, doReport, nil, &p)
}

// Cut is the moment at which power is lost: it reports, and from then on
// nothing becomes durable; who asks for a sync waits until it is killed. Then
// SIGKILL the broker, wait for its end, and call Crash; or Restore.
func (c *Client) Cut(ctx context.Context) (Pending, error) {
	var p Pending
	return p, c.ask(ctx, doCut, nil, &p)
}

// Restore takes a Cut back, as if there had been none.
func (c *Client) Restore(ctx context.Context) error { return c.ask(ctx, doRestore, nil, nil) }

// Crash leaves the data directory as a power loss would, and returns what was lost.
// The broker must be dead, because writes through mappings arrive only when it ends.
// All remaining data is then durable, and a Cut is over.
func (c *Client) Crash(ctx context.Context, crash Crash) (Outcome, error) {
	var o Outcome
	return o, c.ask(ctx, doCrash, crash, &o)
}

// Sync makes everything durable.
func (c *Client) Sync(ctx context.Context) error { return c.ask(ctx, doSync, nil, nil) }

// Wait returns when the rule, which has a Hold, holds an operation, and at
// once if it already does.
func (c *Client) Wait(ctx context.Context, rule string) (Hit, error) {
	var h Hit
	return h, c.ask(ctx, doWait, rule, &h)
}

// Resume lets go what the rule holds, and what it would hold later.
func (c *Client) Resume(ctx context.Context, rule string) error {
	return c.ask(ctx, doResume, rule, nil)
}

// Files are the regular files of the data directory, by path.
func (c *Client) Files(ctx context.Context) ([]File, error) {
	var files []File
	return files, c.ask(ctx, doFiles, nil, &files)
}

// Rot flips one bit of a file. The broker must be down: a file that stays open is an error.
// The spoiled file is durable.
func (c *Client) Rot(ctx context.Context, rot Rot) (Rotten, error) {
	var r Rotten
	return r, c.ask(ctx, doRot, rot, &r)
}

// Erase is a disk that was replaced by an empty one: everything is gone but
// these names at the top of the data directory. The broker must be down. It
// answers what was lost.
func (c *Client) Erase(ctx context.Context, keep ...string) (Loss, error) {
	var l Loss
	return l, c.ask(ctx, doErase, keep, &l)
}

// Abort frees whoever waits for the layer, whatever state its process is in:
// every operation on the mount fails from now on, and the process is killed.
// The data stay in Info().Tree.
func (c *Client) Abort() error {
	var aborted error
	// A number whose mount is gone may be another's by now.
	if n, err := connection(c.info.Mount); err == nil && n != 0 && n == c.info.Connection {
		aborted = Abort(c.info.Connection)
	}
	if err := c.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("kill the disk layer of %s, process %d: %w", c.info.Mount, c.info.PID, errors.Join(err, aborted))
	}
	_ = c.stdin.Close()
	if errors.Is(aborted, errors.ErrUnsupported) {
		aborted = nil // its end does the same
	}
	return errors.Join(aborted, detach(c.info.Mount))
}

// Close ends the layer in order: everything is durable, the mount is gone and
// the data are in the data directory itself. The broker must be down; whoever
// still has a file open keeps it and can do nothing with it. A process that hangs
// is aborted, and its data are given back all the same; the error says so.
func (c *Client) Close(ctx context.Context) error {
	_ = c.stdin.Close()
	ctx, cancel := context.WithTimeout(ctx, endBound)
	defer cancel()
	err := c.awaitEnd(ctx)
	if err == nil {
		return nil
	}
	err = fmt.Errorf("end the disk layer of %s: %w", c.info.Mount, errors.Join(err, c.Abort()))
	select {
	case <-c.gone:
	case <-time.After(Patience):
		return fmt.Errorf("%w; process %d is still there, its data are in %s", err, c.info.PID, c.info.Tree)
	}
	if back := giveBack(c.info); back != nil {
		return fmt.Errorf("%w; %w", err, back)
	}
	return fmt.Errorf("%w; its data were given back", err)
}

// awaitEnd returns when the process has ended, and how if not in order.
func (c *Client) awaitEnd(ctx context.Context) error {
	tick := time.NewTicker(Patience)
	defer tick.Stop()
	for used := c.Used(); ; {
		select {
		case <-c.gone:
			return c.err
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		now := c.Used()
		if now == used {
			return fmt.Errorf("process %d did nothing for %v", c.info.PID, Patience)
		}
		used = now
	}
}
