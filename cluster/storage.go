package cluster

import (
	"context"
	"fmt"
)

// A storer is a flavor whose nodes say how much is stored of a topic of MQTT, or a mailbox of mq9.
type storer interface {
	stored(ctx context.Context, n *Node, topic string) (int64, error)
}

// Stored is how many messages the cluster's storage has of a topic of MQTT, or of a mailbox of
// mq9, by a node's own page. It is never fewer than there are, and at most one more for each
// partition.
// ErrUnsupported is that the flavor has no such page.
func (c *Cluster) Stored(ctx context.Context, n *Node, topic string) (int64, error) {
	s, ok := c.flavor.(storer)
	if !ok {
		return 0, fmt.Errorf("ask what is stored of %s: %s does not say: %w", topic, c.info.Flavor, ErrUnsupported)
	}
	count, err := s.stored(ctx, n, topic)
	if err != nil {
		return 0, fmt.Errorf("ask %s what is stored of %s: %w", n.name, topic, err)
	}
	return count, nil
}
