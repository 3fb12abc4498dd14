package docker

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A Usage is what a container's control groups count.
type Usage struct {
	MemoryBytes uint64 // without the page cache that can be dropped
	Threads     uint64
	CPUSeconds  float64 // since it was started
}

// Usage asks for it, once.
func (c *Container) Usage(ctx context.Context) (Usage, error) {
	ctx, cancel := context.WithTimeout(ctx, callBound)
	defer cancel()
	answer, err := c.e.api.ContainerStats(ctx, c.id, client.ContainerStatsOptions{})
	if err != nil {
		return Usage{}, fmt.Errorf("read the usage of container %s: %w", c.name, err)
	}
	defer answer.Body.Close()
	var s container.StatsResponse
	if err := json.NewDecoder(answer.Body).Decode(&s); err != nil {
		return Usage{}, fmt.Errorf("read the usage of container %s: %w", c.name, err)
	}
	memory := s.MemoryStats.Usage
	for _, name := range []string{"total_inactive_file", "inactive_file"} { // of version 1 and 2
		if cache := s.MemoryStats.Stats[name]; cache > 0 && cache < memory {
			memory -= cache
			break
		}
	}
	return Usage{MemoryBytes: memory, Threads: s.PidsStats.Current, CPUSeconds: float64(s.CPUStats.CPUUsage.TotalUsage) / 1e9}, nil
}
