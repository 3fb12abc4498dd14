// Evals asks agents questions about brokers, of which it knows the truth. It looks at
// the server's record of the agents' calls.
//
//	go run ./evals                                                every task, by the scripted agent
//	go run ./evals -task qos2-twice -- claude -p --mcp-config {mcp} --strict-mcp-config --allowedTools 'mcp__rmq-mcp__*'
//
// An agent is any command. It reads a question from its input and says its answer on its
// output. Evals ends with 1 if an answer is wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "evals:", err)
		os.Exit(1)
	}
}

// errWrong is that an agent was wrong somewhere.
var errWrong = errors.New("not all answers are right")

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == "scripted" {
		return scripted(ctx, args[1], out)
	}
	flags := flag.NewFlagSet("evals", flag.ContinueOnError)
	only := flags.String("task", "", "`names` of the tasks, with commas; none: all")
	server := flags.String("server", "", "the rmq-mcp to test; none: it is built from this source")
	dir := flags.String("dir", "", "keep what was recorded below this directory; none: it is removed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "rmq-evals-*"); err != nil {
			return err
		}
		defer os.RemoveAll(*dir)
	}
	if *server == "" {
		if *server, err = buildServer(ctx, *dir); err != nil {
			return err
		}
	}
	agent := Agent(flags.Args())
	if len(agent) == 0 {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		agent = Agent{self, "scripted", "{mcp}"}
	}
	fmt.Fprintln(out, tableHead)
	wrong := false
	for _, t := range chosen {
		where := filepath.Join(*dir, t.Name)
		if err := os.MkdirAll(where, 0o755); err != nil {
			return err
		}
		r, err := agent.try(ctx, t, *server, where, os.Stderr)
		if err != nil {
			return err
		}
		wrong = wrong || len(r.Problems) > 0
		fmt.Fprintln(out, r.row())
	}
	if wrong {
		return errWrong
	}
	return nil
}

// choose are the tasks with these names.
func choose(names string) ([]Task, error) {
	all, err := tasks()
	if err != nil || names == "" {
		return all, err
	}
	var chosen []Task
	for name := range strings.SplitSeq(names, ",") {
		found := false
		for _, t := range all {
			if t.Name == name {
				chosen, found = append(chosen, t), true
			}
		}
		if !found {
			var there []string
			for _, t := range all {
				there = append(there, t.Name)
			}
			return nil, fmt.Errorf("no task %q; there are %s", name, strings.Join(there, ", "))
		}
	}
	return chosen, nil
}

func buildServer(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "rmq-mcp")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/robustmq/rmq-mcp/cmd/rmq-mcp").CombinedOutput(); err != nil {
		return "", fmt.Errorf("build the server: %w: %s", err, out)
	}
	return path, nil
}
