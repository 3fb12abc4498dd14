package disk

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// handle answers one request.
func (s *service) handle(ctx context.Context, r request) (any, error) {
	l, t := s.layer, s.layer.tree
	switch r.Do {
	case doFaults:
		return with(r, func(f Faults) (any, error) {
			if err := f.Check(); err != nil {
				return nil, err
			}
			l.set(f)
			return nil, nil
		})
	case doStats:
		return l.stats(), nil
	case doReport:
		return s.report(), nil
	case doCut:
		l.distrust(isOpen)
		t.cutPower()
		return s.report(), nil
	case doRestore:
		t.restorePower()
		return nil, nil
	case doCrash:
		return with(r, s.crash)
	case doSync:
		if l.distrust(isOpen); !t.syncAll() {
			return nil, errors.New("power is cut; Crash or Restore first")
		}
		return nil, nil
	case doWait:
		return with(r, func(id string) (any, error) { return s.wait(ctx, id) })
	case doResume:
		return with(r, s.resume)
	case doFiles:
		return t.files(), nil
	case doRot:
		return with(r, func(rot Rot) (any, error) { return s.rot(ctx, rot) })
	case doErase:
		return with(r, s.erase)
	}
	return nil, fmt.Errorf("no request %q", r.Do)
}

func with[T any](r request, do func(T) (any, error)) (any, error) {
	var args T
	if err := json.Unmarshal(r.Args, &args); err != nil {
		return nil, fmt.Errorf("%s: %w", r.Do, err)
	}
	return do(args)
}

// isOpen says whether there may be a mapping of x that the kernel has not
// written back.
func isOpen(x *inode) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.opens > 0
}

func (s *service) report() Pending {
	s.layer.distrust(isOpen)
	t := s.layer.tree
	t.ns.Lock()
	defer t.ns.Unlock()
	return t.report()
}

func (s *service) crash(c Crash) (any, error) {
	s.layer.distrust(isOpen)
	t := s.layer.tree
	t.ns.Lock()
	outcome, gone, err := t.crash(c)
	if err == nil {
		t.restored()
	}
	t.ns.Unlock()
	s.layer.invalidate(gone)
	return outcome, err
}

// releaseBound bounds the wait for the releases of files that a killed process had open.
const releaseBound = 2 * time.Second

// rot flips a bit. The kernel sends FUSE_RELEASE in the background: a file of a process
// that has just ended may be open for a moment.
func (s *service) rot(ctx context.Context, r Rot) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, releaseBound)
	defer cancel()
	for {
		rotten, gone, err := s.layer.tree.rot(r)
		s.layer.invalidate(gone)
		if !errors.Is(err, errOpen) {
			return rotten, err
		}
		select {
		case <-time.After(5 * time.Millisecond):
		case <-ctx.Done():
			return rotten, err
		}
	}
}

func (s *service) erase(keep []string) (any, error) {
	loss, gone, err := s.layer.tree.erase(keep)
	s.layer.invalidate(gone)
	return loss, err
}

func (s *service) wait(ctx context.Context, id string) (any, error) {
	a := s.layer.rules.find(id)
	if a == nil || a.Hold == HoldNone {
		return nil, fmt.Errorf("no rule %q that holds; Set one first", id)
	}
	select {
	case <-a.held:
		a.mu.Lock()
		defer a.mu.Unlock()
		return a.first, nil
	case <-a.resumed:
		return nil, fmt.Errorf("rule %q is gone or resumed and held nothing", id)
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *service) resume(id string) (any, error) {
	a := s.layer.rules.find(id)
	if a == nil {
		return nil, nil // it is gone, and what it held with it
	}
	a.resume()
	return nil, nil
}
