package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	psutil "github.com/shirou/gopsutil/v3/process"
)

// Metrics are the node's figures now, by name: those it publishes itself, and
// those of its process, which begin with "process_" and carry their unit. Rows
// that differ by label are added up, but for the few labels that name a part of
// the node; those are in the name. Histograms are their count and sum.
func (n *Node) Metrics(ctx context.Context) (map[string]float64, error) {
	all := map[string]float64{}
	var errs []error
	if n.process() != nil {
		errs = append(errs, n.processMetrics(ctx, all))
	}
	if n.http != "" {
		page, err := call(ctx, n.http, "/metrics", "", nil)
		errs = append(errs, err)
		parseMetrics(page, all)
	}
	if err := errors.Join(errs...); err != nil && len(all) == 0 {
		return nil, fmt.Errorf("read metrics of %s: %w", n.name, err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read metrics of %s: it publishes none we could reach: %w", n.name, ErrUnsupported)
	}
	return all, nil
}

// desertedAfter is how long a node may keep a connection that its client closed
// before that is a leak: it has nothing to wait for.
const desertedAfter = 10 * time.Second

// processMetrics are what the operating system counts; what it does not tell
// is left out.
func (n *Node) processMetrics(ctx context.Context, into map[string]float64) error {
	if p := n.process(); p.exited() {
		return errors.New(p.how())
	}
	if m, ok := n.process().(interface {
		metrics(context.Context, map[string]float64) error
	}); ok {
		return m.metrics(ctx, into)
	}
	p, err := psutil.NewProcessWithContext(ctx, int32(n.PID()))
	if err != nil {
		return fmt.Errorf("look at process %d: %w", n.PID(), err)
	}
	measure(ctx, p, into)
	if open, deserted, err := n.connections(); err == nil {
		into[history.ObserveConnections] = float64(open)
		into[history.ObserveDeserted] = float64(deserted)
	}
	return nil
}

// measure reads a process's memory, descriptors, threads and time.
func measure(ctx context.Context, p *psutil.Process, into map[string]float64) {
	if memory, err := p.MemoryInfoWithContext(ctx); err == nil {
		into[history.ObserveMemory] = float64(memory.RSS)
	}
	if anonymous, err := anonymousMemory(int(p.Pid)); err == nil {
		into[history.ObserveAnonymous] = anonymous
	}
	if fds, err := p.NumFDsWithContext(ctx); err == nil {
		into[history.ObserveDescriptors] = float64(fds)
	}
	if threads, err := p.NumThreadsWithContext(ctx); err == nil {
		into["process_threads"] = float64(threads)
	}
	if cpu, err := p.TimesWithContext(ctx); err == nil {
		into["process_cpu_s"] = cpu.User + cpu.System
	}
}

// anonymousMemory is how many bytes of a process are resident and of no file:
// RssAnon of /proc/PID/status, which only Linux has.
func anonymousMemory(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, after, found := strings.Cut(string(text), "\nRssAnon:")
	value, _, _ := strings.Cut(after, "kB")
	kib, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
	if !found || err != nil {
		return 0, fmt.Errorf("read RssAnon of process %d: %w", pid, ErrUnsupported)
	}
	return float64(kib) * 1024, nil
}

// parseMetrics reads Prometheus text. A line that is not a sample is passed
// over: one bad row is no reason to have none.
func parseMetrics(page []byte, into map[string]float64) {
	lines := bufio.NewScanner(bytes.NewReader(page))
	lines.Buffer(nil, len(page)+1)
	for lines.Scan() {
		name, value, ok := parseSample(lines.Text())
		if ok && !math.IsNaN(value) {
			into[name] += value
		}
	}
}

// parseSample reads `name{label="value"} 1.5`, with or without labels, and a
// time after it that is not needed.
func parseSample(line string) (name string, value float64, ok bool) {
	line = strings.TrimSpace(line)
	if line == "" || line[0] == '#' {
		return "", 0, false
	}
	end := strings.LastIndexByte(line, '}') + 1
	if end == 0 {
		end = strings.IndexAny(line, " \t")
	}
	if end <= 0 {
		return "", 0, false
	}
	family, labels, _ := strings.Cut(line[:end], "{")
	fields := strings.Fields(line[end:])
	if len(fields) == 0 || strings.HasSuffix(family, "_bucket") || strings.Contains(labels, "quantile=") {
		return "", 0, false
	}
	name = family
	if strings.Contains(labels, "machine=") || strings.Contains(labels, "runtime=") { // a Raft group, a thread pool
		name += "{" + labels
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	return name, value, err == nil
}
