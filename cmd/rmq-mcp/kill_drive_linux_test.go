package main

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/robustmq/rmq-mcp/faults"
)

// start starts a server, or a terminal, that starts an experiment. End ends it
// in order and answers its exit code.
func (r *round) start(ctx context.Context, l *lab) (end func() int, err error) {
	if r.how == "run" {
		cmd := l.command("run", filepath.Join(l.base, r.scenario), "--no-repeat")
		out, err := os.Create(filepath.Join(l.base, "run.out"))
		if err != nil {
			return nil, err
		}
		defer out.Close()
		cmd.Stdout, cmd.Stderr = out, out
		if err := cmd.Start(); err != nil {
			return nil, err
		}
		return func() int { cmd.Wait(); return cmd.ProcessState.ExitCode() }, nil
	}
	ctx, cancel := context.WithCancel(ctx)
	cmd := l.command("serve", "--grace", grace.String())
	client := mcp.NewClient(&mcp.Implementation{Name: "tester", Version: "1"}, nil)
	done := make(chan struct{})
	go func() {
		defer close(done)
		session, err := client.Connect(ctx, &mcp.CommandTransport{Command: cmd}, nil)
		if err != nil {
			return // it was killed before
		}
		defer session.Close()
		r.drive(ctx, session)
		<-ctx.Done()
	}()
	return func() int {
		cancel()
		<-done
		if cmd.ProcessState == nil {
			return 0
		}
		return cmd.ProcessState.ExitCode()
	}, nil
}

// drive is what an agent does. Any call may fail: something of what it needs
// is being killed.
func (r *round) drive(ctx context.Context, session *mcp.ClientSession) {
	call := func(tool string, args map[string]any) {
		session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: args})
	}
	if r.how == "serve" {
		call("run_scenario", map[string]any{"scenario": r.scenario, "nodes": 1, "wait_s": 45})
		return
	}
	nodes := 1
	if r.scenario == "three-nodes.md" {
		nodes = 3
	}
	config := map[string]any{"flavor": "reference", "arm": r.arms()}
	call("cluster_start", map[string]any{"nodes": nodes, "config": config, "wait_s": 45})
	call("run_client", map[string]any{"sdk_lang": "go", "scenario": "mqtt/persistent-session", "wait_s": 0})
	if r.scenario == "no-fault.md" {
		return
	}
	for _, f := range r.faults {
		target := f.target
		if nodes == 1 && slices.Contains([]string{"leader", "follower", "any", "minority", "majority", "all"}, target) {
			target = "node-1"
		}
		call("inject_fault", map[string]any{"type": f.typ, "target": target, "params": f.params})
	}
}

// arms is all that there is to arm where something of it is struck, and else
// what the faults need.
func (r *round) arms() []string {
	arms := []string{}
	if slices.Contains(r.strike.roles, "disk") {
		arms = append(arms, "disk")
	}
	for _, k := range faults.Catalog() {
		used := slices.ContainsFunc(r.faults, func(f injection) bool { return f.typ == k.Type })
		if used && k.Arms != "" && !slices.Contains(arms, k.Arms) {
			arms = append(arms, k.Arms)
		}
	}
	return arms
}

// randomFaults are three of the catalogue, as their examples have them but for
// long: what heals them is somebody's death.
func randomFaults(random *rand.Rand) []injection {
	all := slices.DeleteFunc(faults.Catalog(), func(k faults.Kind) bool { return k.Arms == "clock" })
	var chosen []injection
	for _, i := range random.Perm(len(all))[:3] {
		k := all[i]
		params := maps.Clone(k.Example.Params)
		params["duration_s"] = min(120, k.MaxDuration.Seconds())
		chosen = append(chosen, injection{k.Type, k.Example.Target, params})
	}
	return chosen
}
