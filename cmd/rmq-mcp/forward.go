package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
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
			return keeper.Listen(ctx, cmd.OutOrStdout(), client, node, port, listen)
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
