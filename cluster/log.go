package cluster

import (
	"context"
	"fmt"
)

// A logReader is a flavor whose nodes show what is stored of a topic of MQTT.
type logReader interface {
	// log reads the messages of a topic from an offset on, in their order, as many as
	// the node shows at once. None is the end of the log.
	log(ctx context.Context, n *Node, topic string, from int64) ([]Stored, error)
}

// A Stored message is one of a topic's log.
type Stored struct {
	Offset  int64  `json:"offset"`
	Payload string `json:"content"` // bytes that are no text are replaced
}

// ReadLog reads all that a node shows as stored of a topic of MQTT, from the oldest
// message on. ErrUnsupported is that the flavor shows no log, or not all of it.
func (c *Cluster) ReadLog(ctx context.Context, n *Node, topic string, each func(Stored)) error {
	l, ok := c.flavor.(logReader)
	if !ok {
		return fmt.Errorf("read the log of %s: %s shows none: %w", topic, c.info.Flavor, ErrUnsupported)
	}
	for next := int64(0); ; {
		some, err := l.log(ctx, n, topic, next)
		if err != nil {
			return fmt.Errorf("read the log of %s at %s: %w", topic, n.name, err)
		}
		if next == 0 && len(some) > 0 && some[0].Offset > 0 {
			return fmt.Errorf("read the log of %s at %s: it begins with offset %d, what was before is gone: %w", topic, n.name, some[0].Offset, ErrUnsupported)
		}
		before := next
		for _, m := range some {
			if m.Offset >= next {
				each(m)
				next = m.Offset + 1
			}
		}
		if next == before {
			return nil
		}
	}
}

// log is RobustMQ's page of messages (docs/en/Api/CLUSTER.md; src/admin-server/src/
// cluster/message.rs, v0.4.11), which has those of the first partition alone, a
// hundred at a time.
func (robustmq) log(ctx context.Context, n *Node, topic string, from int64) ([]Stored, error) {
	if from == 0 {
		switch shards, err := shardsOf(ctx, n, topic); {
		case err != nil:
			return nil, err
		case len(shards) != 1:
			return nil, fmt.Errorf("it has %d partitions, of which the first is shown: %w", len(shards), ErrUnsupported)
		}
	}
	var page struct {
		Messages []Stored `json:"messages"`
	}
	err := robustmqAsk(ctx, n, "/api/cluster/message/read", map[string]any{"tenant": "default", "topic": topic, "offset": from}, &page)
	return page.Messages, err
}
