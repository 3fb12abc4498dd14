package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"

	embedded "github.com/robustmq/rmq-mcp/internal/reference"
)

// TestMain makes the test binary a node when it is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "node" {
		if err := embedded.Main(context.Background(), os.Args[2:], os.Stdout); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// self is the argv that makes this binary a node.
func self(t *testing.T) []string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return []string{path, "node"}
}
