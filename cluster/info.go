package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"

	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"

	"github.com/robustmq/rmq-mcp/history"
)

// describe is what is recorded of a cluster that runs.
func (c *Cluster) describe(opts Options, sum string) history.ClusterInfo {
	info := history.ClusterInfo{
		Flavor:    opts.Config.Flavor,
		Runtime:   opts.Config.Runtime,
		Isolation: opts.Network.Isolation(),
		Nodes:     len(c.plan.nodes),
		Version:   c.plan.version,
		BinarySHA: sum,
		Profile:   opts.Config.Profile,
		Config:    c.plan.config,
		Differs:   c.plan.differs,
		Queue:     c.plan.queue,
		QueueTold: opts.Config.QueueLimit > 0,
		InFlight:  c.plan.inFlight,
		SessionS:  c.plan.session.Seconds(),
		WaitS:     c.plan.wait.Seconds(),
		Lacks:     lacks(opts.Config),
		Host:      hostFacts(),
	}
	if files, _ := shareFiles(); files != "" && !opts.Config.Foreign() && !opts.Config.Imaged() { // which inherit it
		info.Host["open_files"] = files
	}
	if ref, hash := c.runtime.image(); ref != "" {
		info.Image, info.BinarySHA = ref, cmp.Or(sum, hash)
	}
	if c.plan.binary != "" {
		info.Binary = filepath.Base(c.plan.binary)
	}
	if info.Version == "" && len(c.plan.nodes) > 0 {
		info.Version = c.plan.nodes[0].Version()
	}
	return info
}

// Promises are what the vendor promises of a broker of this flavor.
func (c *Cluster) Promises() []string { return c.plan.promises }

// Lacks returns the things that cannot be had of a cluster, by flavor and runtime, whatever
// system it runs on.
func (c Config) Lacks() map[string]string {
	lacks := map[string]string{}
	if c.Imaged() {
		lacks[history.LacksResources] = "the connections of a process in a container are not to be seen here"
	}
	if c.Foreign() {
		maps.Copy(lacks, lacksOf(c))
	}
	return lacks
}

// lacks are the things that cannot be had of a cluster on this system.
func lacks(c Config) map[string]string {
	lacks := c.Lacks()
	if runtime.GOOS != "linux" && lacks[history.LacksResources] == "" {
		lacks[history.LacksResources] = "only Linux shows the connections of a process"
	}
	return lacks
}

// hostFacts are the machine's kernel, cores and memory; what cannot be read is
// left out.
func hostFacts() map[string]string {
	facts := map[string]string{
		"os":    runtime.GOOS + "/" + runtime.GOARCH,
		"cores": fmt.Sprint(runtime.NumCPU()),
	}
	if kernel, err := host.KernelVersion(); err == nil {
		facts["kernel"] = kernel
	}
	if memory, err := mem.VirtualMemory(); err == nil {
		facts["memory_mb"] = fmt.Sprint(memory.Total >> 20)
	}
	return facts
}

// hashLater hashes a file, hundreds of megabytes for some brokers, while the
// nodes start. It answers "" for one that cannot be read.
func hashLater(path string) <-chan string {
	sum := make(chan string, 1)
	go func() {
		defer close(sum)
		f, err := os.Open(path)
		if err != nil {
			return
		}
		defer f.Close()
		h := sha256.New()
		if _, err := io.Copy(h, f); err == nil {
			sum <- hex.EncodeToString(h.Sum(nil))
		}
	}()
	return sum
}

// absolute is a path below the experiment's directory that means the same to a
// process with another working directory.
func absolute(parts ...string) (string, error) {
	path, err := filepath.Abs(filepath.Join(parts...))
	if err != nil {
		return "", fmt.Errorf("find %s: %w", filepath.Join(parts...), err)
	}
	return path, nil
}
