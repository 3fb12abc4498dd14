//go:build !linux

package experiment

import (
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
)

func onHost(cluster.Host) tap.Options { return tap.Options{} }
