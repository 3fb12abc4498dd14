//go:build !linux

package cluster

import (
	"context"
	"fmt"
)

// Sockets are known on Linux only.
func (n *Node) Sockets(context.Context) (map[string]int64, error) {
	return nil, fmt.Errorf("read the connections of %s: only Linux tells them: %w", n.name, ErrUnsupported)
}

func (n *Node) connections() (open, deserted int, err error) { return 0, 0, ErrUnsupported }
