package cluster

import (
	"context"
	"fmt"
	"os"
	"testing"

	embedded "github.com/robustmq/rmq-mcp/internal/broker/reference"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/internal/mechanism/diskprobe"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

// TestMain makes the test binary a node, or what owns some, when it is started
// as one.
func TestMain(m *testing.M) {
	if len(os.Args) < 2 {
		os.Exit(hosttest.Alone(m))
	}
	var err error
	switch os.Args[1] {
	case "node":
		err = embedded.Main(context.Background(), os.Args[2:], os.Stdout)
	case "version":
		fmt.Println("version 1.2.3")
	case "disk":
		err = disk.Main(context.Background(), os.Args[2:], os.Stdin, os.Stdout)
	case "diskprobe":
		err = diskprobe.Main(os.Args[2:], os.Stdin, os.Stdout)
	case "inside":
		err = InsideMain(context.Background(), os.Args[2:], os.Stdin, os.Stdout)
	case "keeper":
		err = keeperMain(os.Args[2])
	default:
		os.Exit(hosttest.Alone(m))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
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
