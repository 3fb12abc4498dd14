package main

import (
	"bytes"
	"net"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// The clients of a run log in at somebody else's broker with the name that the command has,
// and with the password of the environment.
func TestLogin(t *testing.T) {
	seen := make(chan []byte, 100)
	broker := hosttest.Serve(t, func(c net.Conn) {
		defer c.Close()
		connect := make([]byte, 1024)
		n, _ := c.Read(connect)
		seen <- connect[:n]
		c.Write([]byte{0x20, 2, 0, 5}) // not authorized
	})
	t.Setenv(passwordEnv, "secret")
	if err := rmq(t, t.TempDir(), "run", "mqtt/qos-roundtrip", "--endpoint", broker, "--username", "joe").Run(); err == nil {
		t.Error("a broker that admits nobody is no error")
	}
	if got := <-seen; !bytes.HasSuffix(got, []byte("\x00\x03joe\x00\x06secret")) {
		t.Errorf("a client logs in by %q", got)
	}
}
