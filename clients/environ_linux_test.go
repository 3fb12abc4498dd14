package clients_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// A client library is somebody else's code: no token is in its environment.
func TestADriverIsGivenNoSecret(t *testing.T) {
	const secret = "planted-in-the-environment"
	for _, name := range []string{"GITHUB_TOKEN", "RMQ_GITHUB_TOKEN", "RMQ_MCP_TOKEN", "RMQ_PASSWORD", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL"} {
		t.Setenv(name, secret)
	}
	d, err := clients.Start(t.Context(), clients.Options{
		Command: fake("hang"), Recorder: newMemory(1), Clock: history.NewClock(), Spec: contract.Spec{Run: "testtest", Clients: two()},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { d.Close(); <-d.Done() }()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", d.Pid()))
	if err != nil || !strings.Contains(string(environ), "PATH=") {
		t.Fatalf("its environment is %q, %v", environ, err)
	}
	if strings.Contains(string(environ), secret) {
		t.Errorf("it was given a secret: %q", strings.ReplaceAll(string(environ), "\x00", " "))
	}
}
