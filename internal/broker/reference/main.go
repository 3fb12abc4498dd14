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
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
)

// listenWait bounds how long a node may take to open its listeners.
const listenWait = 60 * time.Second

// Main runs one node until ctx is done, SIGTERM or an interrupt arrives, or,
// where the configuration says so, standard input ends. Each of these shuts
// the node down in order: leaders move, then clients are closed. The log goes
// to stdout. Arguments are -config FILE.
func Main(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("node", flag.ContinueOnError)
	flags.SetOutput(stdout)
	path := flags.String("config", "", "the node's configuration, a JSON `file`")
	build := flags.String("build", "", "the `version` of the program that the node is part of")
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
	config.Build = *build
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
	page, err := net.Listen("tcp", config.at(config.HTTPPort))
	if err != nil {
		return fmt.Errorf("open the status page of %s: %w", config.Name, err)
	}
	web := &http.Server{ReadHeaderTimeout: 5 * time.Second}
	defer web.Close()

	go s.Start()
	if !s.ReadyForConnections(listenWait) {
		s.Shutdown()
		return fmt.Errorf("start %s: no listener after %v; is a port taken? See the lines above", config.Name, listenWait)
	}
	inside, err := nats.Connect("", nats.InProcessServer(s), nats.Name("mq9"), nats.MaxReconnects(-1))
	if err != nil {
		s.Shutdown()
		return fmt.Errorf("start %s: serve mq9: %w", config.Name, err)
	}
	defer inside.Close()
	defect := config.Plant
	if strings.HasPrefix(defect, LeakPrefix) {
		leak, err := FindLeak(defect)
		if err != nil {
			s.Shutdown()
			return fmt.Errorf("start %s: %w", config.Name, err)
		}
		defect = ""
		go leak.run(ctx, s)
	}
	lists, err := mq9.Serve(inside, mq9.At(config.Name), config.Replicas, func() bool { return len(config.Routes) == 0 || s.JetStreamIsLeader() }, defect)
	if err != nil {
		s.Shutdown()
		return fmt.Errorf("start %s: %w", config.Name, err)
	}
	if err := s.GlobalAccount().AddMapping(mq9.Subjects, mq9.At(config.Name)); err != nil {
		s.Shutdown()
		return fmt.Errorf("start %s: serve mq9: %w", config.Name, err)
	}
	defer s.GlobalAccount().RemoveMapping(mq9.Subjects) // before the connection above is closed
	if err := config.secure(ctx); err != nil {
		s.Shutdown()
		return err
	}
	web.Handler = handler(s, config, lists)
	go web.Serve(page) // who asks before waits until all is served
	ended := make(chan struct{})
	go func() { s.WaitForShutdown(); close(ended) }()
	select {
	case <-ctx.Done():
		inside.Close() // the shutdown waits for every client
		s.LameDuckShutdown()
		<-ended
		return nil
	case <-ended:
		return fmt.Errorf("%s shut itself down; see the lines above", config.Name)
	}
}

// untilEnd returns a context that is done when r ends. The process that started the
// node holds the other side and never writes. However that process dies, r ends.
func untilEnd(ctx context.Context, r io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		defer cancel()
		io.Copy(io.Discard, r)
	}()
	return ctx
}
