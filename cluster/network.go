package cluster

import (
	"os/exec"
)

// A Network is where the processes of one experiment run. With namespaces it
// is a star: every node, driver and the witness is a host of its own, and the
// keeper is the router between them. Without, everything is on loopback.
type Network interface {
	// Isolation names it: namespaces, loopback, or host.
	Isolation() string
	// Host makes a host, or answers the one of that name.
	Host(name string) (Host, error)
	Close() error
}

// A Host runs processes at an address of its own.
type Host interface {
	Name() string
	// Address is where its listeners are, as seen from every other host and
	// from the keeper.
	Address() string
	// Port answers the port to use for a service that would like to have want.
	// On a host of its own that is want; on loopback it is a free one below
	// the range the kernel hands to outgoing connections, the same at every
	// call for the same service.
	Port(service string, want int) (int, error)
	// Start starts a command on this host. The caller waits for it.
	Start(cmd *exec.Cmd) error
}
