package cluster

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/mechanism/netns"
)

// States of a connection, as the kernel's tables number them.
const (
	stateEstablished = "01"
	stateCloseWait   = "08" // its client has closed it, and the node has not
)

// Sockets are the connections that the kernel of the node holds as established
// at its MQTT listener, by the client's address, and the bytes that were sent
// to each and not taken yet.
func (n *Node) Sockets(context.Context) (map[string]int64, error) {
	out, err := n.sockets(stateEstablished)
	if err != nil {
		return nil, fmt.Errorf("read the connections of %s: %w", n.name, err)
	}
	return out[0], nil
}

// sockets are those in each of the states, as of one moment.
func (n *Node) sockets(states ...string) ([]map[string]int64, error) {
	p := n.process()
	if p == nil {
		return nil, fmt.Errorf("it was not started by us: %w", ErrUnsupported)
	}
	if p.exited() {
		return nil, fmt.Errorf("it is gone: %s", p.how())
	}
	if _, ok := n.host.(podHost); ok {
		return nil, fmt.Errorf("its machine is not this one: %w", ErrUnsupported)
	}
	at, err := netip.ParseAddrPort(n.listener())
	if err != nil {
		return nil, err
	}
	out := make([]map[string]int64, len(states))
	for i := range out {
		out[i] = map[string]int64{}
	}
	read := func() error {
		for _, table := range []string{"tcp", "tcp6"} {
			text, err := os.ReadFile("/proc/thread-self/net/" + table)
			if err != nil && !(errors.Is(err, fs.ErrNotExist) && table == "tcp6") {
				return err
			}
			for i, state := range states {
				inState(state, text, at.Port(), out[i])
			}
		}
		return nil
	}
	if inside, ok := n.host.(interface{ NetNS() *os.File }); ok {
		return out, netns.In(inside.NetNS(), read)
	}
	return out, read()
}

// connections counts those that are open, and those that their clients closed at
// least [desertedAfter] ago and the node still has not.
func (n *Node) connections() (open, deserted int, err error) {
	in, err := n.sockets(stateEstablished, stateCloseWait)
	if err != nil {
		return 0, 0, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	now, since := time.Now(), map[string]time.Time{}
	for at := range in[1] {
		since[at] = now
		if first, known := n.closed[at]; known {
			since[at] = first
		}
		if now.Sub(since[at]) >= desertedAfter {
			deserted++
		}
	}
	n.closed = since
	return len(in[0]), deserted, nil
}

// inState reads a table of the kernel's (proc_pid_net(5)): local and remote
// address, state, and the bytes in the send queue.
func inState(state string, table []byte, port uint16, into map[string]int64) {
	lines := bufio.NewScanner(bytes.NewReader(table))
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) < 5 || f[3] != state {
			continue
		}
		local, err := tableAddress(f[1])
		if err != nil || local.Port() != port {
			continue
		}
		remote, err := tableAddress(f[2])
		if err != nil {
			continue
		}
		unsent, _, _ := strings.Cut(f[4], ":")
		n, _ := strconv.ParseInt(unsent, 16, 64)
		into[remote.String()] = n
	}
}

// tableAddress reads 0201A8C0:075B: words as the host writes numbers, and a
// port.
func tableAddress(s string) (netip.AddrPort, error) {
	ip, port, _ := strings.Cut(s, ":")
	b, err := hex.DecodeString(ip)
	if err != nil || len(b)%4 != 0 {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", s)
	}
	for i := 0; i < len(b); i += 4 {
		binary.NativeEndian.PutUint32(b[i:], binary.BigEndian.Uint32(b[i:]))
	}
	addr, ok := netip.AddrFromSlice(b)
	p, err := strconv.ParseUint(port, 16, 16)
	if err != nil || !ok {
		return netip.AddrPort{}, fmt.Errorf("%q is no address", s)
	}
	return netip.AddrPortFrom(addr.Unmap(), uint16(p)), nil
}
