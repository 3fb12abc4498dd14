package limits

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"
)

// tryBound is for a shell that asks again when it was refused.
const tryBound = time.Second

// TryTask is nil where a group would allow one more task, also where there is
// no such group, and else an error; it wraps [ErrRefused] if the kernel refused it. A
// shell joins the group, which is always allowed, and asks.
func TryTask(ctx context.Context, dir string) error {
	l, err := Shown(dir)
	if err != nil || l.Tasks == nil {
		return err
	}
	current, err := field(dir+"/pids.current", "")
	if err != nil {
		return fmt.Errorf("read control group: %w", err)
	}
	if int(current) < *l.Tasks {
		return nil // the shell itself would take what is left
	}
	before, err := Count(dir)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, tryBound)
	defer cancel()
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", `echo $$ > "$0/cgroup.procs" && (true) && echo made`, dir)
	cmd.WaitDelay = tryBound
	out, err := cmd.Output()
	if strings.Contains(string(out), "made") {
		return nil
	}
	after, countErr := Count(dir)
	if countErr != nil || after.Refused == before.Refused {
		return errors.Join(fmt.Errorf("ask for one more task in %s: %w", dir, err), countErr)
	}
	return fmt.Errorf("%w: %d of %d are there", ErrRefused, current, *l.Tasks)
}
