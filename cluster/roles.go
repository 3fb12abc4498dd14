package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
)

// Roles are what Resolve takes beside the names of nodes.
func Roles() []string {
	return []string{"leader", "follower", "any", "majority", "minority", "all"}
}

// Leader asks the brokers which node leads the data of a topic now. The error
// says so when none does, as during an election.
func (c *Cluster) Leader(ctx context.Context, topic string) (*Node, error) {
	c.mu.Lock()
	c.topic = topic
	c.mu.Unlock()
	name, err := c.flavor.leader(ctx, c.plan, topic)
	if err != nil {
		return nil, fmt.Errorf("find the leader: %w", err)
	}
	n, err := c.node(name)
	if err != nil {
		return nil, fmt.Errorf("find the leader: %w", err)
	}
	if state, err := n.State(ctx); err == nil && state != history.StateRunning {
		return nil, fmt.Errorf("find the leader: the others still name %s, which is %s", name, state)
	}
	return n, nil
}

// Resolve returns the nodes that a role means now, at least one: node-N, or
// one of Roles. For the leader it waits until there is one, for a bounded
// time. The cluster's seed decides between several choices. Follower and any
// choose among nodes that run.
func (c *Cluster) Resolve(ctx context.Context, role, topic string) ([]*Node, error) {
	nodes, err := c.resolve(ctx, role, topic)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", role, err)
	}
	return nodes, nil
}

func (c *Cluster) resolve(ctx context.Context, role, topic string) ([]*Node, error) {
	all := c.plan.nodes
	switch role {
	case "leader":
		n, err := c.awaitLeader(ctx, topic)
		return []*Node{n}, err
	case "follower":
		leader, err := c.awaitLeader(ctx, topic)
		if err != nil {
			return nil, err
		}
		return c.choose(slices.DeleteFunc(running(ctx, all), func(n *Node) bool { return n == leader }), 1)
	case "any":
		return c.choose(running(ctx, all), 1)
	case "majority":
		return c.choose(all, len(all)/2+1)
	case "minority":
		return c.choose(all, (len(all)-1)/2)
	case "all":
		return slices.Clone(all), nil
	}
	n, err := c.node(role)
	if err != nil {
		return nil, fmt.Errorf("%w; or a role: %s", err, strings.Join(Roles(), ", "))
	}
	return []*Node{n}, nil
}

func (c *Cluster) awaitLeader(ctx context.Context, topic string) (*Node, error) {
	ctx, cancel := context.WithTimeout(ctx, c.plan.leaderBound)
	defer cancel()
	for {
		n, err := c.Leader(ctx, topic)
		if err == nil || errors.Is(err, ErrUnsupported) {
			return n, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// choose takes want nodes by the seed, in the order of their names.
func (c *Cluster) choose(from []*Node, want int) ([]*Node, error) {
	if want == 0 || len(from) < want {
		return nil, fmt.Errorf("there is no such node; %d of %d nodes could be chosen", len(from), len(c.plan.nodes))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return pick(c.dice, from, want), nil
}

func pick(dice *rand.Rand, from []*Node, want int) []*Node {
	order := dice.Perm(len(from))[:want]
	slices.Sort(order)
	var chosen []*Node
	for _, i := range order {
		chosen = append(chosen, from[i])
	}
	return chosen
}

// running are the nodes whose process runs; where that cannot be seen, all.
func running(ctx context.Context, nodes []*Node) []*Node {
	var up []*Node
	for _, n := range nodes {
		if state, err := n.State(ctx); state == history.StateRunning || errors.Is(err, ErrUnsupported) {
			up = append(up, n)
		}
	}
	return up
}

// Views are the roles of each node now, for people to see: leader or follower
// of the data of the topic that Leader or Resolve was last asked about, nothing
// for a node that does not run or while there is no leader.
func (c *Cluster) Views(ctx context.Context) map[string][]string {
	c.mu.Lock()
	topic := c.topic
	c.mu.Unlock()
	leader, err := c.Leader(ctx, topic)
	up, views := running(ctx, c.plan.nodes), map[string][]string{}
	for _, n := range c.plan.nodes {
		switch {
		case err != nil, !slices.Contains(up, n):
			views[n.name] = []string{}
		case n == leader:
			views[n.name] = []string{"leader"}
		default:
			views[n.name] = []string{"follower"}
		}
	}
	return views
}
