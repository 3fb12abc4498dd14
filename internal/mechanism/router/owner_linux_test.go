package router

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

const ownerEnv = "RMQ_TEST_ROUTER_OWNER"

// Somebody else's rules survive ours, and ours do not survive their owner.
func TestOwnerDies(t *testing.T) {
	if os.Getenv(ownerEnv) != "" {
		owner(t)
		return
	}
	if !hosttest.Inside(t) {
		return
	}
	theirs := "table ip theirs {\n\tchain forward {\n\t\ttype filter hook forward priority filter; policy accept;\n\t\tip saddr 198.18.1.2 counter\n\t}\n}\n"
	nft(t, theirs)
	cmd := exec.Command("/proc/self/exe", "-test.run=^TestOwnerDies$")
	cmd.Env = append(os.Environ(), ownerEnv+"=1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan() && lines.Text() != "rendered"; {
	}
	if got := ruleset(t); !strings.Contains(got, tableName) || !strings.Contains(got, "theirs") {
		t.Errorf("while it lives:\n%s", got)
	}
	if b, err := exec.Command("nft", "delete", "table", "ip", tableName).CombinedOutput(); err == nil {
		t.Errorf("somebody else could delete our table: %s", b)
	}
	cmd.Process.Kill()
	cmd.Wait()
	// The socket is closed by the kernel in its own time.
	for deadline := time.Now().Add(hosttest.Bound); strings.Contains(ruleset(t), tableName); {
		if time.Now().After(deadline) {
			t.Fatalf("our table outlived its owner:\n%s", ruleset(t))
		}
		time.Sleep(5 * time.Millisecond)
	}
	if got := ruleset(t); !strings.Contains(got, "table ip theirs") || !strings.Contains(got, "198.18.1.2") {
		t.Errorf("somebody else's rules are gone:\n%s", got)
	}
}

// owner renders rules twice, among somebody else's, and waits to be killed.
func owner(t *testing.T) {
	opt := Options{
		Hosts:  func() []Host { return []Host{fixed{"node-1", "198.18.1.2"}, fixed{"node-2", "198.18.2.2"}} },
		Client: func(string) bool { return false },
	}
	r, err := New(opt)
	if err != nil {
		t.Fatal(err)
	}
	for _, rules := range [][]Rule{{{Fault: "f1", Do: Drop, Links: both("node-1", "node-2")}}, nil, {{Fault: "f2", Do: Reject, Links: both("node-1", "node-2")}}} {
		if err := r.Render(t.Context(), rules); err != nil {
			t.Fatal(err)
		}
	}
	os.Stdout.WriteString("rendered\n")
	time.Sleep(time.Minute)
}

// fixed is a host that is only a name and an address.
type fixed struct{ name, address string }

func (f fixed) Name() string    { return f.name }
func (f fixed) Address() string { return f.address }
func (f fixed) NetNS() *os.File { return nil }
func (f fixed) Link() string    { return f.name }

func nft(t *testing.T, rules string) {
	t.Helper()
	cmd := exec.Command("nft", "-f", "-")
	cmd.Stdin = strings.NewReader(rules)
	if b, err := cmd.CombinedOutput(); err != nil {
		hosttest.Skip(t, "nft: "+err.Error()+string(b))
	}
}
