package limits

import (
	"os"
	"testing"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestMain(m *testing.M) { os.Exit(hosttest.Alone(m)) }
