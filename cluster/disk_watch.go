package cluster

import (
	"context"
	"fmt"
	"time"
)

// How often a disk layer is asked whether it is there, and how long one may
// neither say so nor work.
const (
	diskLook     = time.Second
	diskPatience = 10 * time.Second
)

// watch aborts a layer that is gone or hangs: a process that waits for such a layer
// waits in the kernel, where no signal reaches it. It tells the cause, and for how
// long the layer may have been in that state.
func (d *Disk) watch(tell func(what string, since time.Duration)) {
	tick := time.NewTicker(diskLook)
	defer tick.Stop()
	for {
		what, since := "", time.Duration(0)
		select {
		case <-d.over:
			return
		case <-d.Gone():
			what, since = fmt.Sprintf("ended unasked (%s)", d.Ended()), diskLook // before that the broker may have met it
		case <-tick.C:
			if !d.hangs() {
				continue
			}
			what, since = fmt.Sprintf("stood still for %v", diskPatience), diskLook+diskPatience
		}
		seen := time.Now()
		select {
		case <-d.over:
		default:
			what += ", and was taken away: what the broker does without its data is not its own doing"
			if err := d.Abort(); err != nil {
				what = fmt.Sprintf("%s; %v", what, err)
			}
			tell(what, since+time.Since(seen))
		}
		return
	}
}

// hangs reports whether the layer neither answers nor works. On a busy machine it
// may be slow.
func (d *Disk) hangs() bool {
	used := d.Used()
	ctx, cancel := context.WithTimeout(context.Background(), diskPatience)
	defer cancel()
	_, err := d.Stats(ctx)
	return err != nil && d.Used() == used
}
