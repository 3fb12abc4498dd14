package envelope

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
)

// Limits that were read limit: none is below what it is compared with.
func FuzzRead(f *testing.F) {
	all, err := os.ReadFile("../../docs/envelope.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(all)
	f.Add([]byte("max_total_fault_s: .nan\n"))
	f.Add([]byte("max_nodes: -1\nallowed_pids: [1, x]\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		file := filepath.Join(t.TempDir(), "envelope.yaml")
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
		e, err := Read(file, "/state")
		if err != nil {
			return
		}
		if e.MaxNodes < 1 || !(e.MaxFaultDurationS > 0) || e.MaxConcurrentFaults < 1 || !(e.MaxTotalFaultS >= 0) {
			t.Fatalf("limits that limit nothing: %+v", e)
		}
		if e.Cluster(cluster.Config{Nodes: e.MaxNodes + 1}) == nil {
			t.Fatal("more nodes than are allowed are let through")
		}
		_ = e.Fault(Fault{Type: "kill", Targets: []string{"any"}, Duration: time.Minute})
		_, _ = e.Destination("github:a/b")
	})
}
