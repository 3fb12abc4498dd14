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

// stored adds up, over the topic's partitions, the end offset plus one. The node asks
// each partition's leader for the end offset. It is the offset of the last message,
// and 0 also if there is none (src/storage-engine/src/handler/adapter.rs, list_shard,
// v0.4.11). The stored messages themselves cannot be read: the page for them ignores
// the offset to start at (src/admin-server/src/cluster/message.rs).
func (robustmq) stored(ctx context.Context, n *Node, topic string) (int64, error) {
	shards, err := shardsOf(ctx, n, topic)
	if err != nil {
		return 0, err
	}
	var count int64
	for _, shard := range shards {
		end, err := endOffset(ctx, n, shard)
		if err != nil {
			return 0, err
		}
		count += end + 1
	}
	return count, nil
}

// endOffset is that of the last message of a partition.
func endOffset(ctx context.Context, n *Node, shard string) (int64, error) {
	var page struct {
		Rows []struct {
			Info struct {
				Name   string `json:"shard_name"`
				Offset struct {
					End int64 `json:"end_offset"`
				} `json:"offset"`
			} `json:"shard_info"`
		} `json:"data"`
	}
	if err := robustmqAsk(ctx, n, "/api/storage-engine/shard/list", map[string]any{"shard_name": shard}, &page); err != nil {
		return 0, err
	}
	for _, r := range page.Rows {
		if r.Info.Name == shard {
			return r.Info.Offset.End, nil
		}
	}
	return 0, fmt.Errorf("it does not list the partition %s", shard)
}
