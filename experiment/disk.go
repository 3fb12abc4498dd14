package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
)

// disks are the layers under the nodes' data directories, as faults see them.
type disks struct{ stage *stage }

func (d disks) Disk(node string) (faults.Disk, error) {
	n, err := d.stage.node(node)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", faults.ErrUnsupported, err)
	}
	under := n.Disk()
	if under == nil {
		return nil, fmt.Errorf("%w: nothing of ours lies under the data directory of %s; start the cluster with arm [disk]", faults.ErrUnsupported, node)
	}
	return nodeDisk{under}, nil
}

func (d disks) Beside(ctx context.Context) (faults.Touched, error) {
	plain := d.stage.cluster.Plain()
	if plain == nil {
		return faults.Touched{}, fmt.Errorf("%w: no disk was armed", faults.ErrUnsupported)
	}
	took, errno, err := plain.Touch(ctx, string(disk.Fsync), 1)
	return faults.Touched{Took: took, Errno: errno}, err
}

// diskGone records that a layer of ours ended or stood still: from then on nothing is
// held against the broker that this could explain, so a scenario ends.
func (s *stage) diskGone(n *cluster.Node, how string, since time.Duration) {
	s.harness("the disk layer of %s %s", n.Name(), how)
	ev := harnessEvent(s.clock.Now(), history.KindObserve, history.ObserveDiskGone)
	fmt.Sscanf(n.Name(), "node-%d", &ev.Node) // the cluster may not be known yet
	ev.Node, ev.Value = ev.Node-1, since.Seconds()
	s.rec.Record(ev)
	s.abandon()
}

// witnessGone records that the witness ended or was stopped: a fault that waits for it
// is healed late.
func (s *stage) witnessGone(how string) {
	s.harness("the witness %s", how)
	s.rec.Record(harnessEvent(s.clock.Now(), history.KindObserve, history.ObserveWitnessGone))
}

// nodeDisk is a node's.
type nodeDisk struct{ *cluster.Disk }

func (d nodeDisk) Touch(ctx context.Context, op disk.Op, times int) (faults.Touched, error) {
	took, errno, err := d.Probe.Touch(ctx, string(op), times)
	return faults.Touched{Took: took, Errno: errno}, err
}

func (d nodeDisk) Byte(ctx context.Context, path string, offset int64) (byte, error) {
	return d.Probe.Byte(ctx, path, offset)
}

func (d nodeDisk) Count(ctx context.Context) (int, error) { return d.Probe.Count(ctx) }
