package hosttest

import (
	"context"
	"errors"
	"net"
	"testing"
)

// Serve hands each connection to an address of the loopback to a function, one
// beside the other, and closes it when that returns. With the test it all ends:
// nothing listens any more, and what is open is closed.
func Serve(t testing.TB, handle func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ServeOn(t, l, handle)
	return l.Addr().String()
}

// ServeOn is Serve for who has a listener, such as one in another namespace.
func ServeOn(t testing.TB, l net.Listener, handle func(net.Conn)) {
	ctx, end := context.WithCancel(context.Background())
	t.Cleanup(func() {
		l.Close()
		end()
	})
	go func() {
		for {
			conn, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				t.Errorf("accept on %s: %v", l.Addr(), err)
				return
			}
			go func() {
				defer conn.Close()
				defer context.AfterFunc(ctx, func() { conn.Close() })()
				handle(conn)
			}()
		}
	}()
}
