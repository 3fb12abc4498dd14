package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Names of the armaments. They are put in place before the nodes start, so that
// faults can act on them later.
const (
	ArmDisk  = "disk"  // a layer of ours under each node's data directory
	ArmClock = "clock" // a library of ours between each node and its clock
	ArmTap   = "tap"   // a proxy of ours between clients and nodes; not this package's to arm

	// ArmChaosMesh has the Chaos Mesh of a Kubernetes cluster inject faults of the network.
	ArmChaosMesh = "chaos-mesh"
)

// Arms are the names of what can be armed.
func Arms() []string { return []string{ArmDisk, ArmClock, ArmTap, ArmChaosMesh} }

// WithArms are some arms, and after them those of more that are not among them. It changes
// neither list.
func WithArms(arms []string, more ...string) []string {
	all := slices.Clone(arms)
	for _, arm := range more {
		if !slices.Contains(all, arm) {
			all = append(all, arm)
		}
	}
	return all
}

// An armament is one of them, for one node. Arm is called after the node's
// configuration is written and before it starts for the first time; disarm
// after its process is gone for good, also where arm did not succeed.
type armament interface {
	arm(ctx context.Context, n *Node) error
	disarm(n *Node) error
}

func armaments(opts Options) map[string]armament {
	return map[string]armament{
		ArmDisk:  armDisk{opts},
		ArmClock: armClock{},
	}
}

// checkArms refuses what cannot be armed.
func checkArms(config Config) error {
	for _, name := range config.Arm {
		if !slices.Contains(Arms(), name) {
			return fmt.Errorf("arm: no %q; choose %s", name, strings.Join(Arms(), ", "))
		}
	}
	if config.Runtime != RuntimePods && slices.Contains(config.Arm, ArmChaosMesh) {
		return fmt.Errorf("arm %s: Chaos Mesh acts on pods; use runtime %s", ArmChaosMesh, RuntimePods)
	}
	ours := func(name string) bool { return name != ArmTap }
	if config.Foreign() && slices.ContainsFunc(config.Arm, ours) {
		return errors.New("arm: external brokers take the tap alone, which is between clients and them")
	}
	return checkDiskModel(config, slices.Contains(config.Arm, ArmDisk))
}

// arm puts in place for every node what the configuration asks for.
func (c *Cluster) arm(ctx context.Context, opts Options) error {
	for _, name := range opts.Config.Arm {
		a, ok := armaments(opts)[name]
		if !ok {
			continue
		}
		if name == ArmDisk {
			if err := c.makePlain(opts); err != nil {
				return err
			}
		}
		for _, n := range c.plan.nodes {
			c.armed = append(c.armed, func() error { return a.disarm(n) })
			if err := a.arm(ctx, n); err != nil {
				return fmt.Errorf("arm the %s of %s: %w", name, n.name, err)
			}
		}
	}
	return nil
}

// disarm takes out what arm put in place, in reverse order.
func (c *Cluster) disarm() error {
	var errs []error
	for _, undo := range slices.Backward(c.armed) {
		errs = append(errs, undo())
	}
	c.armed = nil
	return errors.Join(errs...)
}
