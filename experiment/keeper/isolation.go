package keeper

import (
	"context"
	"os/exec"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/environ"
)

// Isolation answers the isolation that an experiment would have on this host,
// by trying it, and where it is not the best one, why. Self is the argv that
// executes this binary; it must have the hidden command isolate.
func Isolation(ctx context.Context, self []string) (isolation, why string) {
	for _, l := range levels("") {
		if !l.contained {
			return l.isolation, why
		}
		cmd := exec.CommandContext(ctx, self[0], append(self[1:len(self):len(self)], "isolate")...)
		cmd.Env = environ.Own()
		dieWithParent(cmd)
		l.apply(cmd)
		out, err := cmd.CombinedOutput()
		if err == nil {
			return l.isolation, ""
		}
		why = strings.TrimSpace(string(out))
		if why == "" {
			why = err.Error()
		}
	}
	return IsolationLoopback, why
}

// IsolateMain is the hidden command isolate: in namespaces that it was cloned
// into, it does what a keeper would, and ends.
func IsolateMain() error { return isolate(IsolationNamespaces) }
