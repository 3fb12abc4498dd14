package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// An Agent is a command that gets a question on its input and says its answer on its
// output. {mcp} in an argument is the file that names the server, in the form that MCP
// hosts read: {"mcpServers": {"rmq-mcp": {"command": …, "args": […]}}}.
type Agent []string

const (
	scriptEnv  = "RMQ_EVAL_SCRIPT" // file with the calls of the scripted agent
	pastLimits = 20 * time.Minute  // that an agent has beside its time, to begin and to end by itself
	pipeWait   = 10 * time.Second  // that a child of an agent has to let go of its output, once the agent is gone
)

// try asks an agent the question of a task, on a stage below a directory, and looks at
// what it did.
func (agent Agent) try(ctx context.Context, t Task, server, dir string, say io.Writer) (r Result, err error) {
	r.Task = t.Name
	s, err := newStage(ctx, dir, t)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	mcp := filepath.Join(dir, "mcp.json")
	config := map[string]any{"mcpServers": map[string]any{"rmq-mcp": map[string]any{
		"command": server, "args": []string{"serve", "--dir", s.State, "--envelope", s.Envelope},
	}}}
	script := filepath.Join(dir, "script.json")
	if err := errors.Join(s.writeJSON(mcp, config), s.writeJSON(script, t.Script)); err != nil {
		return r, err
	}
	said, err := agent.ask(ctx, t, s, mcp, script, say)
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
	}
	if err := os.WriteFile(filepath.Join(dir, "answer.txt"), []byte(said), 0o644); err != nil {
		return r, err
	}
	r.Record, err = readRecord(s) // of what the agent can have seen
	if err = errors.Join(err, s.settle(ctx)); err != nil {
		return r, err
	}
	answer, err := readAnswer(said)
	if err != nil {
		r.Problems = append(r.Problems, err.Error())
		return r, nil
	}
	r.Problems = append(r.Problems, t.verify(r.Record, answer)...)
	return r, nil
}

// ask starts the agent's command and returns what it said.
func (agent Agent) ask(ctx context.Context, t Task, s *Stage, mcp, script string, say io.Writer) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(t.Limits.Minutes*float64(time.Minute))+pastLimits)
	defer cancel()
	var args []string
	for _, a := range agent[1:] {
		args = append(args, strings.ReplaceAll(a, "{mcp}", mcp))
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, agent[0], args...)
	cmd.Stdin = strings.NewReader(t.prompt(s))
	cmd.Stdout = &said
	cmd.Stderr = say
	cmd.Dir = filepath.Dir(mcp)
	cmd.Env = append(os.Environ(), scriptEnv+"="+script)
	cmd.WaitDelay = pipeWait
	if err := cmd.Run(); err != nil {
		return said.String(), fmt.Errorf("the agent ended with an error: %w", err)
	}
	return said.String(), nil
}

// writeJSON writes a file with the stage's addresses filled in.
func (s *Stage) writeJSON(path string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(s.fill(string(text))+"\n"), 0o644)
}
