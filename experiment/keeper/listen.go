package keeper

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
)

// A Dialer reaches ports inside an experiment.
type Dialer interface {
	Forward(ctx context.Context, node string, port int) (net.Conn, error)
}

// Listen listens on an address of this machine until ctx ends, and pipes every connection to a node's
// port. Out gets the address.
func Listen(ctx context.Context, out io.Writer, d Dialer, node string, port int, address string) error {
	// A wrong node or port is an error now, and no connection that closes later.
	probe, err := d.Forward(ctx, node, port)
	if err != nil {
		return fmt.Errorf("forward %s:%d: %w", node, port, err)
	}
	probe.Close()
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("forward %s:%d: %w; choose another with --listen", node, port, err)
	}
	fmt.Fprintf(out, "%s -> %s:%d, until interrupted\n", listener.Addr(), node, port)
	stop := context.AfterFunc(ctx, func() { listener.Close() })
	defer stop()
	for {
		conn, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("forward %s:%d: %w", node, port, err)
		}
		go pipe(ctx, conn, d, node, port)
	}
}

func pipe(ctx context.Context, near net.Conn, d Dialer, node string, port int) {
	defer near.Close()
	far, err := d.Forward(ctx, node, port)
	if err != nil {
		fmt.Fprintf(os.Stderr, "rmq-mcp: forward %s:%d: %v\n", node, port, err)
		return
	}
	defer far.Close()
	var both sync.WaitGroup
	both.Go(func() { copyHalf(far, near) })
	both.Go(func() { copyHalf(near, far) })
	both.Wait()
}

// copyHalf copies one direction, and its end.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	to.Close()
}
