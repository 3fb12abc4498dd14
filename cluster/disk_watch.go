package cluster

import (
	"context"
	"fmt"
	"time"
)

// How often a disk layer is asked whether it is there, and how long it may
// take to say so.
const (
	diskLook     = time.Second
	diskPatience = 10 * time.Second
)

// watch aborts a layer that is gone or does not answer, and tells: whoever
// waits for one waits in the kernel, where no signal reaches him.
func (d *Disk) watch(tell func(what string)) {
	tick := time.NewTicker(diskLook)
	defer tick.Stop()
	for {
		select {
		case <-d.over:
			return
		case <-d.Gone():
		case <-tick.C:
			ctx, cancel := context.WithTimeout(context.Background(), diskPatience)
			_, err := d.Stats(ctx)
			cancel()
			if err == nil {
				continue
			}
		}
		select {
		case <-d.over:
		default:
			what := "ended, or does not answer, and was taken away: what the broker does without its data is not its own doing"
			if err := d.Abort(); err != nil {
				what = fmt.Sprintf("%s; %v", what, err)
			}
			tell(what)
		}
		return
	}
}
