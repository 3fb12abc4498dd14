package main

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	handler, err := siteHandler(pages, hosts)
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

// siteHandler serves the site's files. Their types are fixed, whatever the
// host's table says, and a browser runs no script but those of the pages' own
// templates. A request for a foreign host name is refused, because a page on
// another site may have pointed that name at this machine.
func siteHandler(pages string, hosts []string) (http.Handler, error) {
	scripts, err := site.ScriptHashes()
	if err != nil {
		return nil, err
	}
	files := http.FileServer(http.Dir(pages))
	policy := "default-src 'none'; img-src 'self'; style-src 'unsafe-inline'; script-src " + strings.Join(scripts, " ") +
		"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !siteHost(r.Host, hosts) {
			http.Error(w, fmt.Sprintf("host %q is not served here; start the dashboard with --host to allow it", r.Host), http.StatusForbidden)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			http.Error(w, "this site is only read", http.StatusMethodNotAllowed)
			return
		}
		h := w.Header()
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", policy)
		h.Set("Referrer-Policy", "no-referrer")
		if kind := siteType(r.URL.Path); kind != "" {
			h.Set("Content-Type", kind)
		}
		files.ServeHTTP(w, r)
	}), nil
}

// siteType is the type of a file by its name; "" for a directory.
func siteType(path string) string {
	switch filepath.Ext(path) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".svg":
		return "image/svg+xml"
	case ".json":
		return "application/json"
	case ".xml":
		return "application/atom+xml"
	case ".zst":
		return "application/zstd"
	}
	if strings.HasSuffix(path, "/") {
		return ""
	}
	return "text/plain; charset=utf-8"
}

// siteHost takes addresses, which nobody else's name can stand for, this machine's
// own name for itself, and what the operator named.
func siteHost(host string, more []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	return net.ParseIP(strings.Trim(name, "[]")) != nil || strings.EqualFold(name, "localhost") || slices.Contains(more, name)
}
