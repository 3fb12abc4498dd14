package main

import (
	"bytes"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/campaigns/jobs"
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
	t.Setenv(attempt.PasswordEnv, "secret")
	if err := rmq(t, t.TempDir(), "run", "mqtt/qos-roundtrip", "--endpoint", broker, "--username", "joe").Run(); err == nil {
		t.Error("a broker that admits nobody is no error")
	}
	if got := <-seen; !bytes.HasSuffix(got, []byte("\x00\x03joe\x00\x06secret")) {
		t.Errorf("a client logs in by %q", got)
	}
}

// A job's process has the password, and not in its environment.
func TestLoginOfAJob(t *testing.T) {
	t.Setenv(attempt.PasswordEnv, "secret")
	job := &campaigns.JobDir{Dir: t.TempDir()}
	if err := jobs.Spawn("state", []string{"/bin/sh", "-c", `cat > "$0.heard" && env > "$0.env" && echo begun`, filepath.Join(job.Dir, "job")}, job); err != nil {
		t.Fatal(err)
	}
	heard, err := os.ReadFile(filepath.Join(job.Dir, "job.heard"))
	env, err2 := os.ReadFile(filepath.Join(job.Dir, "job.env"))
	if err := errors.Join(err, err2); err != nil || string(heard) != "secret" || strings.Contains(string(env), "secret") {
		t.Errorf("%v: a job hears %q, and its environment is %s", err, heard, env)
	}
}
