package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/mechanism/diskprobe"
)

// diskBound is how long the layer under a data directory may take to be mounted.
const diskBound = time.Minute

// A Disk is the layer under a node's data directory, and a helper that looks
// at the directory through it. Its process is a child of ours and on the
// node's host; it outlives the broker.
type Disk struct {
	*disk.Client
	Probe *diskprobe.Probe
	over  chan struct{} // closed: it is being taken away
}

// armDisk mounts a layer over each node's data directory.
type armDisk struct{ opts Options }

func (a armDisk) arm(ctx context.Context, n *Node) error {
	if n.data == "" {
		return fmt.Errorf("its data directory is not known: %w", ErrUnsupported)
	}
	if err := n.launcher.beside(diskLayer); err != nil {
		return err
	}
	if err := disk.Available(); err != nil {
		return err
	}
	model, err := disk.ModelNamed(diskModel(a.opts.Config))
	if err != nil {
		return err
	}
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		return fmt.Errorf("make the data directory: %w", err)
	}
	backing := filepath.Join(n.dir, "disk")
	ctx, cancel := context.WithTimeout(ctx, diskBound)
	defer cancel()
	client, err := disk.Start(ctx, disk.Config{Mount: n.data, Backing: backing, Model: model}, disk.Options{
		Command: command(a.opts.Program, "disk"), Start: n.host.Start, Log: os.Stderr,
	})
	if err != nil {
		return err
	}
	d := &Disk{
		Client: client, over: make(chan struct{}),
		Probe: diskprobe.New(command(a.opts.Program, "diskprobe"), n.data, n.host.Start),
	}
	n.setDisk(d)
	go d.watch(func(what string, since time.Duration) { a.opts.DiskGone(n, what, since) })
	return nil
}

// disarm gives the data back to a plain directory. A layer that hangs is aborted.
func (armDisk) disarm(n *Node) error {
	d := n.Disk()
	if d == nil {
		return nil
	}
	n.setDisk(nil)
	close(d.over)
	d.Probe.Close()
	return d.Close(context.Background())
}

// Disk is the layer under the node's data directory, nil where it was not
// armed or is gone.
func (n *Node) Disk() *Disk {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.disk
}

func (n *Node) setDisk(d *Disk) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.disk = d
}

// diskModel is the configuration's model of a disk.
func diskModel(config Config) string {
	if config.DiskModel == "" {
		return disk.Ext4().Name
	}
	return config.DiskModel
}

// checkDiskModel refuses one that does not exist, or that nothing is armed for.
func checkDiskModel(config Config, armed bool) error {
	if config.DiskModel == "" {
		return nil
	}
	if !armed {
		return errors.New("disk_model says how the armed disk behaves, and it is not armed; set arm to [disk], or leave disk_model out")
	}
	if _, err := disk.ModelNamed(config.DiskModel); err != nil {
		return fmt.Errorf("disk_model: %w", err)
	}
	return nil
}

// Plain is a probe of a plain directory on the file system that the nodes'
// data lie on; nil where no disk was armed.
func (c *Cluster) Plain() *diskprobe.Probe { return c.plain }

// makePlain makes it.
func (c *Cluster) makePlain(opts Options) error {
	dir, err := absolute(opts.Dir, "plain")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make a directory to compare disks with: %w", err)
	}
	c.plain = diskprobe.New(command(opts.Program, "diskprobe"), dir, nil)
	c.armed = append(c.armed, func() error {
		c.plain.Close()
		return nil
	})
	return nil
}

// command is a hidden command of this binary.
func command(program []string, name string) []string {
	return append(program[:len(program):len(program)], name)
}
