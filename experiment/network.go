package experiment

import (
	"os/exec"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

// newNetwork is the star where the keeper has namespaces of its own, else
// loopback.
func newNetwork(env keeper.Env) (cluster.Network, error) {
	if env.Isolation == keeper.IsolationNamespaces {
		return cluster.NewStar()
	}
	network := cluster.NewLoopback(env.Isolation)
	if env.Announce == nil {
		return network, nil
	}
	return &announced{network, env.Announce}, nil
}

// announced tells the keeper's guard of every process, so that it ends with
// the keeper where no namespace sees to that.
type announced struct {
	cluster.Network
	tell func(pid int) error
}

func (n *announced) Host(name string) (cluster.Host, error) {
	host, err := n.Network.Host(name)
	return &announcedHost{host, n.tell}, err
}

type announcedHost struct {
	cluster.Host
	tell func(pid int) error
}

func (h *announcedHost) Start(cmd *exec.Cmd) error {
	if err := h.Host.Start(cmd); err != nil {
		return err
	}
	return h.tell(cmd.Process.Pid)
}
