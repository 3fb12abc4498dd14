package faults

import (
	"context"
	"fmt"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/mechanism/docker"
)

// foreignLayer begins the name of what stands for a node that somebody else
// started. It is journalled and never rendered.
const foreignLayer = "foreign"

// A foreigner is a node that may be somebody else's: what is done to it does
// not end with its keeper.
type foreigner interface{ Foreign() map[string]any }

// A leaving fault is one of a kind that leaves at a broker what nobody can take back. A broker
// of somebody else gets it only if its process or container is named.
type leaving struct{ Fault }

// Plan is that of the fault, if each node may have it.
func (f leaving) Plan(ctx context.Context, t Target) (*Injection, error) {
	for _, n := range t.Nodes {
		if _, err := n.State(ctx); err != nil {
			return nil, fmt.Errorf("%w; it leaves things at the broker that cannot be undone: the operator must name the process or container", err)
		}
	}
	return f.Fault.Plan(ctx, t)
}

// Withheld says why somebody else's node, named as a process, a container or a pod, cannot
// have a fault of the kind; "" where it can.
func (k Kind) Withheld(params map[string]any, as string) string {
	pod, process := as == history.AsPod, as == history.AsProcess
	switch {
	case !k.OnNode():
		return ""
	case k.Family == "network":
		return "the network of external nodes is not ours"
	case k.Arms != "":
		return "nothing of ours can be put between external nodes and their " + k.Arms
	case k.Ours:
		return "the data and the settings of external nodes are not ours"
	case k.Ends && k.ByPID:
		return "an external node gets no limit at which its process may end"
	case pod && !k.Again && !k.Leaves:
		return "the controller of a pod starts it again at once; use restart or rolling_restart"
	case k.Ends && process:
		return "the process of an external broker cannot be started again; name its container to have the faults"
	case k.ByPID && !process:
		return "a container has no process of this host; name its pid to have the faults"
	}
	if at, ok := params["trigger"]; k.Type == "crash_at" && (!ok || at != triggerMetric) {
		return "the log, the role and the files of external nodes are not ours to watch"
	}
	_, missing := k.Available(context.Background())
	return missing
}

// foreign are entries by which the nodes that are not ours are found when
// their keeper is dead.
func foreign(fault string, nodes []Node) []Entry {
	var out []Entry
	for _, n := range nodes {
		if f, ok := n.(foreigner); ok && f.Foreign() != nil {
			out = append(out, Entry{Fault: fault, Layer: foreignLayer + "/" + n.Name(), Want: Running, Args: f.Foreign()})
		}
	}
	return out
}

// undoForeign thaws a process, and starts or unpauses a container, that the
// operator allowed and a fault was in place on. A pod is its controller's to start.
func undoForeign(ctx context.Context, layer string, entries []Entry) (string, error) {
	args, err := argsOf[map[string]any](entries[0]) // all are the same: one node
	if err != nil {
		return "", err
	}
	if id, ok := args["container"].(string); ok {
		host, _ := args["engine"].(string)
		return wake(ctx, layer, host, id)
	}
	if name, ok := args["pod"].(string); ok {
		return layer + ": the controller of pod " + name + " starts it", nil
	}
	pid, _ := args["pid"].(float64)
	start, _ := args["start"].(float64)
	boot, _ := args["boot"].(string)
	if pid == 0 {
		return "", fmt.Errorf("the journal does not say what %s is", layer)
	}
	return thaw(layer, int(pid), uint64(start), boot)
}

func wake(ctx context.Context, layer, host, id string) (string, error) {
	engine, err := docker.Open(ctx, host)
	if err != nil {
		return "", fmt.Errorf("%w; then call rmq-mcp heal", err)
	}
	defer engine.Close()
	c, err := engine.Find(ctx, id)
	if err != nil {
		return "", err
	}
	s, err := c.State(ctx)
	switch {
	case err != nil:
		return "", err
	case s.Paused:
		return layer + ": unpaused", c.Unpause(ctx)
	case !s.Running:
		return layer + ": started again", c.Start(ctx)
	}
	return layer + ": it runs", nil
}
