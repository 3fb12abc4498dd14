package reference

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// listenWait bounds how long a node may take to open its listeners.
const listenWait = 10 * time.Second

// Main runs one node until ctx is done, SIGTERM or an interrupt arrives, or,
// where the configuration says so, standard input ends. Each of these shuts
// the node down in order: leaders move, then clients are closed. The log goes
// to stdout. Arguments are -config FILE.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.SetOutput(stdout)
	path := flags.String("config", "", "the node's configuration, a JSON `file`")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *path == "" {
		return errors.New("node: no configuration; give -config FILE")
	}
	config, err := ReadConfig(*path)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	if config.StdinGuard {
		ctx = untilEnd(ctx, os.Stdin)
	}
	return Run(ctx, config, stdout)
}

// Run runs one node until ctx is done, and shuts it down in order.
func Run(ctx context.Context, config Config, log io.Writer) error {
	s, err := server.NewServer(config.options())
	if err != nil {
		return fmt.Errorf("configure %s: %w", config.Name, err)
	}
	s.SetLogger(&logger{out: log, pid: os.Getpid()}, false, false)
	page, err := net.Listen("tcp", net.JoinHostPort(config.Host, strconv.Itoa(config.HTTPPort)))
	if err != nil {
		return fmt.Errorf("open the status page of %s: %w", config.Name, err)
	}
	web := &http.Server{Handler: handler(s, config), ReadHeaderTimeout: 5 * time.Second}
	go web.Serve(page)
	defer web.Close()

	go s.Start()
	if !s.ReadyForConnections(listenWait) {
		s.Shutdown()
		return fmt.Errorf("start %s: no listener after %v; is a port taken? See the lines above", config.Name, listenWait)
	}
	ended := make(chan struct{})
	go func() { s.WaitForShutdown(); close(ended) }()
	select {
	case <-ctx.Done():
		s.LameDuckShutdown()
		<-ended
		return nil
	case <-ended:
		return fmt.Errorf("%s shut itself down; see the lines above", config.Name)
	}
}

// untilEnd is done when r ends. Whoever started the node holds the other side
// and never writes, so that its death, however it dies, is the end.
func untilEnd(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		io.Copy(io.Discard, r)
	}()
	return ctx
}
