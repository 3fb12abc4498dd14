package docker

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"
)

// holdBound is how long a container may take from its start until its network
// is handed over.
const holdBound = 30 * time.Second

// holdDir is where the container finds the socket.
const holdDir = "/run/rmq-mcp"

const holdSocket = "net.sock"

// A Network is a network namespace that a container of ours holds, for another
// container to live in: that one can be killed and started again, and its
// network stays.
//
// The namespace is handed over as a descriptor, because nothing else reaches a
// keeper: in its pid namespace the container's pid means nothing, and in its
// mount namespace what dockerd mounts later does not appear.
type Network struct {
	container *Container
	conn      *net.UnixConn // its end is the container's
	ns        *os.File
}

// HoldOptions are what to hold.
type HoldOptions struct {
	Name   string // of the container
	Run    string
	Node   string
	Image  Image    // of [Engine.ImportSelf]
	Self   []string // what SelfPath must be told to call [HoldMain]
	Dir    string   // of this machine, for a socket; made and removed
	Labels map[string]string
}

// Hold makes a network namespace with nothing in it but lo.
func (e *Engine) Hold(ctx context.Context, o HoldOptions) (*Network, error) {
	ctx, cancel := context.WithTimeout(ctx, holdBound)
	defer cancel()
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, fmt.Errorf("hold the network of %s: %w", o.Node, err)
	}
	defer os.RemoveAll(o.Dir)
	l, err := listenIn(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("hold the network of %s: %w", o.Node, err)
	}
	defer l.Close()
	c, err := e.Create(ctx, Spec{
		Name: o.Name, Run: o.Run, Node: o.Node, Labels: o.Labels, Image: o.Image.ID,
		Entrypoint: append(append([]string{SelfPath}, o.Self...), filepath.Join(holdDir, holdSocket)),
		Network:    NetworkNone, Binds: []Bind{{From: o.Dir, To: holdDir}},
	})
	if err != nil {
		return nil, err
	}
	n := &Network{container: c}
	if err := n.start(ctx, l); err != nil {
		n.Close()
		return nil, fmt.Errorf("hold the network of %s: %w", o.Node, err)
	}
	return n, nil
}

func (n *Network) start(ctx context.Context, l *net.UnixListener) error {
	if err := n.container.Start(ctx); err != nil {
		return err
	}
	deadline, _ := ctx.Deadline()
	l.SetDeadline(deadline)
	conn, err := l.AcceptUnix()
	if err != nil {
		return fmt.Errorf("container %s did not hand over its network: %w; see docker logs %s", n.container.name, err, n.container.name)
	}
	n.conn = conn
	n.ns, err = receive(conn)
	return err
}

// NS is the namespace, the caller's to close.
func (n *Network) NS() *os.File { return n.ns }

// Join is what a container that lives in it names as its network.
func (n *Network) Join() string { return NetworkOf(n.container.id) }

// Close removes the container that holds it. The namespace ends with the last
// process in it.
func (n *Network) Close() error {
	if n.conn != nil {
		n.conn.Close()
	}
	return n.container.Remove(context.Background())
}
