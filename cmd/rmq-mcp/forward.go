package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/experiment/keeper"
)

func (a *app) forward() *cobra.Command {
	var experiment, listen string
	cmd := &cobra.Command{
		Use:     "forward NODE:PORT",
		Short:   "Forward a node's port to this machine's loopback",
		Example: "  rmq-mcp forward node-1:1883",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			node, port, err := nodePort(args[0])
			if err != nil {
				return err
			}
			client, err := a.live(experiment)
			if err != nil {
				return err
			}
			defer client.Close()
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			return forward(ctx, cmd.OutOrStdout(), client, node, port, listen)
		},
	}
	cmd.Flags().StringVar(&experiment, "experiment", "", "the `run` of the node, if several are live")
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:0", "`address` to listen on")
	return cmd
}

func nodePort(arg string) (node string, port int, err error) {
	node, text, ok := strings.Cut(arg, ":")
	port, err = strconv.Atoi(text)
	if !ok || err != nil || node == "" || port < 1 || port > 65535 {
		return "", 0, fmt.Errorf("forward: %q is not NODE:PORT, such as node-1:1883", arg)
	}
	return node, port, nil
}

// A dialer reaches ports inside an experiment.
type dialer interface {
	Forward(ctx context.Context, node string, port int) (net.Conn, error)
}

// forward listens until ctx ends, and pipes every connection to the node.
func forward(ctx context.Context, out io.Writer, d dialer, node string, port int, address string) error {
	// Dialled once first, so that a wrong node or port is an error now and not
	// a connection that closes later.
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

func pipe(ctx context.Context, near net.Conn, d dialer, node string, port int) {
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

// copyHalf passes one direction on, its end included.
func copyHalf(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		half.CloseWrite()
		return
	}
	to.Close()
}

// live connects to an experiment that is running; "" is the only one.
func (a *app) live(id string) (*keeper.Client, error) {
	dir, err := a.state()
	if err != nil {
		return nil, err
	}
	return keeper.Connect(dir, id)
}

func interrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
}
