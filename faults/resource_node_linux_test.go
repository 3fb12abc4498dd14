package faults

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/robustmq/rmq-mcp/internal/mechanism/limits"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func obey(order byte) {
	switch order {
	case orderBurn:
		go func() {
			for began := time.Now(); time.Since(began) < 20*time.Second; {
			}
		}()
	case orderTake:
		b := make([]byte, 8<<20)
		for i := 0; i < len(b); i += 4096 {
			b[i] = 1
		}
		hoard = append(hoard, b)
	case orderMap:
		for i := 0; ; i++ { // neighbours that differ are not joined
			if _, err := unix.MmapPtr(-1, 0, nil, uintptr(os.Getpagesize()), i&1*unix.PROT_READ, unix.MAP_ANON|unix.MAP_PRIVATE); err != nil {
				os.Exit(3)
			}
		}
	case orderSpawn:
		go func() {
			runtime.LockOSThread()
			select {}
		}()
	}
}

func (n *realNode) PID() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cmd.Process.Pid
}

// order has the node do something. It need not answer.
func (n *realNode) order(order byte) {
	conn, err := net.Dial("tcp", n.addr)
	if err != nil {
		return // it may have ended by the one before
	}
	defer conn.Close()
	conn.Write([]byte{order})
	conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	conn.Read(make([]byte, 1))
}

// within waits for something that must come.
func within(t *testing.T, what string, look func() error) {
	t.Helper()
	err := look()
	for began := time.Now(); err != nil && time.Since(began) < hosttest.Bound; err = look() {
		time.Sleep(5 * time.Millisecond)
	}
	if err != nil {
		t.Errorf("waited for %s: %v", what, err)
	}
}

// hit is nil once the kernel counts that node-2 ran into its limit.
func (c *realCluster) hit(t *testing.T, fault string) error {
	var n limits.Counters
	for _, dir := range c.groups(t) {
		one, err := limits.Count(dir)
		if err != nil {
			return err
		}
		n.Throttled, n.Reclaims, n.Kills, n.Refused = n.Throttled+one.Throttled, n.Reclaims+one.Reclaims, n.Kills+one.Kills, n.Refused+one.Refused
	}
	state, _ := c.nodes[1].State(t.Context())
	enough := map[string]bool{
		"cpu":    n.Throttled >= 15, // a good part of the periods
		"memory": hasEnded(state) || n.Reclaims > 0 && c.nodes[1].stuck(t),
		"pids":   n.Refused > 0,
		"fds":    true,
	}
	if !enough[fault] {
		return fmt.Errorf("%+v, node %s", n, state)
	}
	return nil
}

// stuck reports whether the node has not answered for a second.
func (n *realNode) stuck(t *testing.T) bool {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := n.Probe(ctx)
	return err != nil && ctx.Err() != nil
}

// target is a node, with what is made on the host named for this cluster.
func (c *realCluster) target(number int) Target {
	t := c.on(number)
	t.Site.Run = c.run()
	return t
}

func (c *realCluster) run() string { return "test-" + c.witness.addr }

// groups are the control groups of this cluster that are there.
func (c *realCluster) groups(t *testing.T) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir("/sys/fs/cgroup", func(path string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() && strings.HasPrefix(d.Name(), limits.Name(c.run(), "")) {
			all = append(all, path)
		}
		return nil // one that vanishes meanwhile is somebody else's
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// resource is a request with parameters.
func resource(t *testing.T, typ string, params map[string]any, seconds float64) Request {
	t.Helper()
	all := map[string]any{"duration_s": seconds}
	for k, v := range params {
		all[k] = v
	}
	req, err := Parse(typ, all)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func softFiles(t *testing.T, n *realNode) uint64 {
	t.Helper()
	open, err := limits.OpenFiles(n.PID())
	if err != nil {
		t.Fatal(err)
	}
	return open.Soft
}

// needs skips what the host has no means for.
func needs(t *testing.T, typ string) {
	t.Helper()
	for _, k := range Catalog() {
		if k.Type != typ {
			continue
		}
		_, missing := k.Available(t.Context())
		if missing == "" {
			return
		}
		hosttest.Skip(t, fmt.Sprintf("%s: %s", typ, missing))
	}
}
