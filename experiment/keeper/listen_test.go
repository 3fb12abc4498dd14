package keeper

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// echoes is an experiment with one node, which answers what it is sent.
type echoes struct{ address string }

func (e echoes) Forward(_ context.Context, node string, _ int) (net.Conn, error) {
	if node != "node-1" {
		return nil, errors.New("no node " + node)
	}
	return net.Dial("tcp", e.address)
}

func echo(t *testing.T) echoes {
	t.Helper()
	return echoes{hosttest.Serve(t, func(conn net.Conn) { io.Copy(conn, conn) })}
}

func TestListen(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	said, say := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- Listen(ctx, say, echo(t), "node-1", 1883, "127.0.0.1:0") }()
	line, err := bufio.NewReader(said).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, _, _ := strings.Cut(line, " ")
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "CONNECT"); err != nil {
		t.Fatal(err)
	}
	// The end of one direction is passed on; the other one stays open.
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "CONNECT" {
		t.Errorf("got %q, %v", got, err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestListenToNoNode(t *testing.T) {
	err := Listen(t.Context(), io.Discard, echo(t), "node-9", 1883, "127.0.0.1:0")
	if err == nil || !strings.Contains(err.Error(), "node-9") {
		t.Errorf("%v", err)
	}
}
