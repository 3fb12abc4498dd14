package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// RemoveRun removes every container of a run, whatever state they are in, and
// says how many there were. It is harmless to call again.
func (e *Engine) RemoveRun(ctx context.Context, run string) (int, error) {
	found, err := e.OfRun(ctx, run)
	if err != nil {
		return 0, err
	}
	errs := make([]error, len(found))
	var group sync.WaitGroup
	for i, c := range found {
		group.Go(func() { errs[i] = c.Remove(ctx) })
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	left, err := e.OfRun(ctx, run)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d containers of run %s are still there; remove them by docker rm -f", len(left), run)
	}
	return len(found), err
}
