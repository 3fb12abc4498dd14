package cluster

import (
	"context"
	"fmt"
	"strings"
)

// Runtimes: where nodes run.
const (
	RuntimeProcess = "process" // of this system
	RuntimeDocker  = "docker"  // containers
	RuntimePods    = "kubernetes"
)

// A Runtime is a way to run the nodes of a cluster.
type Runtime struct {
	Name string
	// Images: nodes are made of an image. Then a binary is a path in it, and nothing of
	// this host can be put beside a broker.
	Images bool
	// Beyond: nodes run on machines that are not the user's alone. An agent needs leave for
	// it, and the clients of a run stay in the network of this machine.
	Beyond bool
	// Check says what keeps nodes from running there now; nil if nothing does.
	Check func(context.Context) error

	open func(context.Context, Options) (nodeRuntime, error)
}

// Runtimes are all that there are, the default first.
func Runtimes() []Runtime {
	return []Runtime{
		{Name: RuntimeProcess, Check: func(context.Context) error { return nil }, open: openProcesses},
		{Name: RuntimeDocker, Images: true, Check: checkEngine, open: openDock},
		{Name: RuntimePods, Images: true, Beyond: true, Check: checkPods, open: openPods},
	}
}

// RuntimeNamed returns the runtime of that name; "" is the default. It is an error that
// names the valid ones where there is none.
func RuntimeNamed(name string) (Runtime, error) {
	for i, r := range Runtimes() {
		if r.Name == name || name == "" && i == 0 {
			return r, nil
		}
	}
	return Runtime{}, fmt.Errorf("no runtime %q; choose %s", name, strings.Join(RuntimeNames(), " or "))
}

// RuntimeNames are the names of all runtimes.
func RuntimeNames() (names []string) {
	for _, r := range Runtimes() {
		names = append(names, r.Name)
	}
	return names
}

// RuntimesHere are the names of those that use this machine alone.
func RuntimesHere() (names []string) {
	for _, r := range Runtimes() {
		if !r.Beyond {
			names = append(names, r.Name)
		}
	}
	return names
}

// Imaged reports whether the nodes of a configuration are made of an image, and Beyond whether
// they run on machines that are not the user's alone.
func (c Config) Imaged() bool { return c.runtime().Images }
func (c Config) Beyond() bool { return c.runtime().Beyond }

func (c Config) runtime() Runtime {
	r, _ := RuntimeNamed(c.Runtime)
	return r
}

// A Ledger notes on disk, before it returns, what outlives this process when it is killed:
// containers, or a namespace of pods. A process that is left removes them by it.
type Ledger interface {
	// Making notes a layer of a run that is about to be made, and how to find it.
	Making(layer, run string, found any) error
	// Gone says that nothing of it is left.
	Gone(layer, run string) error
}

// A nodeRuntime is a runtime that was opened for one cluster.
type nodeRuntime interface {
	// network has the hosts of the nodes, beside those of an experiment.
	network(Network) Network
	// put gives every node of a plan its launcher; without it one is a process.
	put(*plan)
	// image is the image of the nodes and its hash; "" where there is none.
	image() (ref, sum string)
	// close removes all that the runtime made. The nodes have ended.
	close() error
}

// A launcher starts one node, again and again.
type launcher interface {
	launch(context.Context, *Node) (instance, error)
	// mechanism names the means that brings an instance into a state, if that is not a
	// signal of this system.
	mechanism(state string) string
	// beside is nil if a thing of this host can be put beside the broker.
	beside(thing) error
}

// A thing is one of this host's that a fault puts beside a broker.
type thing int

const (
	diskLayer    thing = iota // a layer under the data directory
	clockLibrary              // a library between the broker and its clock
	otherBinary               // another build of the broker
)

func openProcesses(context.Context, Options) (nodeRuntime, error) { return processes{}, nil }

// processes run every node as a process of this system.
type processes struct{}

func (processes) network(n Network) Network                             { return n }
func (processes) put(*plan)                                             {}
func (processes) image() (ref, sum string)                              { return "", "" }
func (processes) close() error                                          { return nil }
func (processes) mechanism(string) string                               { return "" }
func (processes) beside(thing) error                                    { return nil }
func (processes) launch(ctx context.Context, n *Node) (instance, error) { return n.run(ctx) }
