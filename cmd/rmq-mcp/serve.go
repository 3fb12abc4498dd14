package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/publication"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/internal/secret"
	"github.com/robustmq/rmq-mcp/reports"
	"github.com/robustmq/rmq-mcp/tools"
)

// serving are the flags of serve.
type serving struct {
	http, envelope, tokenFile string
	source                    string
	readOnly, noToken         bool
	origins, hosts            []string
	grace, maxWait            time.Duration
}

func (a *app) serve() *cobra.Command {
	var s serving
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve MCP over stdio or HTTP",
		Long: "The MCP server. Over stdio it ends when its input does; experiments go on in processes of their own.\n" +
			"Over HTTP it wants a bearer token: from --token-file, RMQ_MCP_TOKEN, or one that it makes and prints.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serveMCP(cmd.Context(), s) },
	}
	f := cmd.Flags()
	f.StringVar(&s.http, "http", "", "serve streamable HTTP on this `address` instead of stdio, such as 127.0.0.1:8089")
	f.StringVar(&s.envelope, "envelope", "", "YAML `file` with the limits that no tool call can leave; docs/envelope.yaml shows all")
	f.StringVar(&s.source, "source", "", "`directory` of the broker's source, or its git repository, for find_code to read")
	f.BoolVar(&s.readOnly, "read-only", false, "offer only tools that change nothing")
	f.DurationVar(&s.grace, "grace", time.Minute, "how long a cluster explored by hand outlives the last server or terminal that uses it")
	f.DurationVar(&s.maxWait, "max-wait", 0, "the longest wait of a call for a run, if its host allows that (default: 45s; over stdio in Claude Code 5m)")
	f.StringVar(&s.tokenFile, "token-file", "", "`file` with the bearer token")
	f.BoolVar(&s.noToken, "no-token", false, "accept every client that reaches the address")
	f.StringArrayVar(&s.origins, "origin", nil, "an `origin` of web pages to allow, beside those of this machine")
	f.StringArrayVar(&s.hosts, "host", nil, "a `name` under which this server is reached, beside localhost")
	return cmd
}

func (a *app) serveMCP(ctx context.Context, s serving) error {
	if s.grace < time.Second {
		return fmt.Errorf("serve: --grace is %s, expected 1s or more", s.grace)
	}
	if s.maxWait < 0 || s.maxWait > tools.LongestWait {
		return fmt.Errorf("serve: --max-wait is %s, expected at most %s", s.maxWait, tools.LongestWait)
	}
	dir, err := a.state()
	if err != nil {
		return err
	}
	limits, err := envelope.Read(s.envelope, dir)
	if err != nil {
		return err
	}
	backend, err := backendOf(dir, s.grace)
	if err != nil {
		return err
	}
	if s.source != "" {
		backend.Code, backend.Push = codeOf(dir, s.source, reports.FindID), publication.PushChecked(s.source)
	}
	journal, err := tools.OpenJournal(dir)
	if err != nil {
		return err
	}
	defer journal.Close()
	server, err := tools.New(tools.Options{Version: build.Version(), Backend: backend, Envelope: limits, ReadOnly: s.readOnly, MaxWait: s.maxWait, Journal: journal})
	if err != nil {
		return err
	}
	ctx, stop := interrupted(ctx)
	defer stop()
	if s.http == "" {
		return server.ServeStdio(ctx, os.Stdin, os.Stdout, log.New(os.Stderr, "rmq-mcp: ", 0))
	}
	return serveHTTP(ctx, server, s)
}

func serveHTTP(ctx context.Context, server *tools.Server, s serving) error {
	token, made, err := s.token()
	if err != nil {
		return err
	}
	if token.IsZero() && !onLoopback(s.http) {
		return fmt.Errorf("serve HTTP on %s without a token: any client that reaches it could start brokers on this machine; leave --no-token out, or serve on 127.0.0.1", s.http)
	}
	listener, err := net.Listen("tcp", loopbackByDefault(s.http))
	if err != nil {
		return fmt.Errorf("serve HTTP on %s: %w; choose another with --http", s.http, err)
	}
	fmt.Fprintf(os.Stderr, "rmq-mcp: serving http://%s%s\n", listener.Addr(), tools.Path)
	if made {
		fmt.Fprintf(os.Stderr, "rmq-mcp: token %s\n", token.Reveal())
	}
	return server.ServeHTTP(ctx, listener, tools.HTTPOptions{Token: token, Origins: s.origins, Hosts: s.hosts})
}

// loopbackByDefault puts an address without a host on the loopback.
func loopbackByDefault(address string) string {
	if strings.HasPrefix(address, ":") {
		return "127.0.0.1" + address
	}
	return address
}

// onLoopback reports whether nobody on another machine can reach an address.
func onLoopback(address string) bool {
	host, _, err := net.SplitHostPort(loopbackByDefault(address))
	ip := net.ParseIP(host)
	return err == nil && (host == "localhost" || ip != nil && ip.IsLoopback())
}

// token answers the bearer token, and whether it was made just now.
func (s serving) token() (token secret.Text, made bool, err error) {
	if s.noToken {
		return token, false, nil
	}
	if s.tokenFile != "" {
		text, err := os.ReadFile(s.tokenFile)
		if err != nil {
			return token, false, fmt.Errorf("read the token: %w", err)
		}
		if token = secret.NewText(strings.TrimSpace(string(text))); token.IsZero() {
			return token, false, errors.New("read the token: " + s.tokenFile + " is empty; --no-token serves without one")
		}
		return token, false, nil
	}
	if token = secret.NewText(os.Getenv("RMQ_MCP_TOKEN")); !token.IsZero() {
		return token, false, nil
	}
	return secret.NewText(rand.Text()), true, nil
}
