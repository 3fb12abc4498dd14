package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/site"
)

func (a *app) dashboard() *cobra.Command {
	var out, address string
	var hosts []string
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Write a static site of all runs, or serve it",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			open := a.reading
			if out == "" && address == "" {
				open = a.state // it is written there
			}
			dir, err := open()
			if err != nil {
				return err
			}
			switch {
			case out != "" && address != "":
				return errors.New("dashboard: give --out or --serve, not both")
			case address != "":
				return serveDashboard(cmd, dir, address, hosts)
			case out == "":
				out = filepath.Join(dir, "dashboard")
			}
			if err := site.Write(dir, out); err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), filepath.Join(out, "index.html"))
			return nil
		},
	}
	cmd.Flags().StringVar(&out, "out", "", "`directory` to write it to (default: dashboard/ in the state directory)")
	cmd.Flags().StringVar(&address, "serve", "", "serve it on this `address` instead, such as 127.0.0.1:8090")
	cmd.Flags().StringArrayVar(&hosts, "host", nil, "`name` by which a browser may ask for it, beside addresses and localhost; repeat it for more")
	return cmd
}

// serveDashboard renders the site anew at every start, into a directory that
// goes with it.
func serveDashboard(cmd *cobra.Command, dir, address string, hosts []string) error {
	pages, err := os.MkdirTemp("", "rmq-mcp-dashboard-")
	if err != nil {
		return fmt.Errorf("make a directory for the dashboard: %w", err)
	}
	defer os.RemoveAll(pages)
	if err := site.Write(dir, pages); err != nil {
		return err
	}
	handler, err := site.Handler(pages, hosts)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", loopbackByDefault(address))
	if err != nil {
		return fmt.Errorf("serve the dashboard: %w; choose another address with --serve", err)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "http://%s/\n", listener.Addr())
	web := &http.Server{Handler: handler, ReadHeaderTimeout: 10 * time.Second}
	ctx, stop := interrupted(cmd.Context())
	defer stop()
	go func() { <-ctx.Done(); web.Close() }()
	if err := web.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve the dashboard: %w", err)
	}
	return nil
}
