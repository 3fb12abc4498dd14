package cluster

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/shirou/gopsutil/v3/host"
	"github.com/shirou/gopsutil/v3/mem"
	"golang.org/x/mod/sumdb/dirhash"

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
		QueueTold: opts.Config.QueueLimit > 0 || c.documented(opts.Config),
		InFlight:  c.plan.inFlight,
		SessionS:  c.plan.session.Seconds(),
		WaitS:     c.plan.wait.Seconds(),
		Lacks:     lacks(opts.Config),
		Host:      hostFacts(),
	}
	if files, _ := shareFiles(); files != "" && !opts.Config.Foreign() && !opts.Config.Imaged() { // which inherit it
		info.Host["open_files"] = files
	}
	if d := opts.Config.flavor().Document; d != nil {
		info.Document = d.SHA()
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

// documented reports whether a document says how many messages a node keeps for a session. It
// does not say what a full queue drops.
func (c *Cluster) documented(config Config) bool {
	d := config.flavor().Document
	return d != nil && d.Limits.Queue != "" && c.plan.queue != history.UnknownQueue
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
	maps.Copy(lacks, c.flavor().Unsaid)
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

// hashLater hashes a program, hundreds of megabytes for some brokers, while the nodes
// start. It answers "" for one that cannot be read.
func hashLater(path string) <-chan string {
	sum := make(chan string, 1)
	go func() {
		defer close(sum)
		if text, err := Hash(path); err == nil {
			sum <- text
		}
	}()
	return sum
}

// Hash is the SHA-256 of a broker's program, in hexadecimal digits: of its file, or of all
// files of a directory.
func Hash(path string) (string, error) {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return hashDir(path)
	}
	return hashFile(path)
}

func hashFile(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// hashDir is the h1 hash of a Go module, in hexadecimal digits.
func hashDir(path string) (string, error) {
	text, err := dirhash.HashDir(path, "", dirhash.Hash1)
	if err != nil {
		return "", err
	}
	sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(text, "h1:"))
	return hex.EncodeToString(sum), err
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
