package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
)

// scripted is an agent without a model. It makes the calls of a task's script, waits for
// each run, and concludes from the answers alone: it knows the script and not the truth.
func scripted(ctx context.Context, config string, out io.Writer) error {
	c, err := connect(ctx, config)
	if err != nil {
		return err
	}
	defer c.Close()
	var script []Call
	text, err := os.ReadFile(os.Getenv(scriptEnv))
	if err == nil {
		err = json.Unmarshal(text, &script)
	}
	if err != nil {
		return fmt.Errorf("read the script: %w", err)
	}
	a := agentState{client: c, violated: map[string][]string{}}
	for _, call := range script {
		if err := a.make(ctx, call); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintln(out, a.conclusion())
	return err
}

// connect starts the server that a host's configuration names.
func connect(ctx context.Context, config string) (*client.Client, error) {
	var hosts struct {
		Servers map[string]struct {
			Command string   `json:"command"`
			Args    []string `json:"args"`
		} `json:"mcpServers"`
	}
	text, err := os.ReadFile(config)
	if err == nil {
		err = json.Unmarshal(text, &hosts)
	}
	if err != nil {
		return nil, fmt.Errorf("read the hosts' configuration: %w", err)
	}
	server := hosts.Servers["rmq-mcp"]
	c, err := client.NewStdioMCPClient(server.Command, os.Environ(), server.Args...)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", server.Command, err)
	}
	ask := mcp.InitializeRequest{}
	ask.Params.ProtocolVersion = mcp.LATEST_LEGACY_PROTOCOL_VERSION
	ask.Params.ClientInfo = mcp.Implementation{Name: "scripted", Version: "1"}
	if _, err := c.Initialize(ctx, ask); err != nil {
		return nil, errors.Join(fmt.Errorf("connect to %s: %w", server.Command, err), c.Close())
	}
	return c, nil
}

type agentState struct {
	client   *client.Client
	run      string              // the last run or series
	series   int                 // that ended
	violated map[string][]string // claims, by party
}

// runAnswer are the parts of an answer that the agent concludes from.
type runAnswer struct {
	RunID   string `json:"run_id"`
	Running bool   `json:"running"`
	Job     *struct {
		Running bool `json:"running"`
		Table   *struct {
			Rows []struct {
				Claim  string `json:"claim"`
				Failed int    `json:"failed"`
				Blame  string `json:"blame"`
			} `json:"rows"`
		} `json:"table"`
	} `json:"job"`
}

// make makes a call, and goes on asking while it says that a run goes on. A call that is
// refused is an answer too.
func (a *agentState) make(ctx context.Context, call Call) error {
	arguments, err := a.fill(call.Arguments)
	if err != nil {
		return err
	}
	for tool := call.Tool; ; tool, arguments = "get_run", map[string]any{"run_id": a.run, "wait_s": 45} {
		ask := mcp.CallToolRequest{}
		ask.Params.Name, ask.Params.Arguments = tool, arguments
		got, err := a.client.CallTool(ctx, ask)
		if err != nil {
			return fmt.Errorf("call %s: %w", tool, err)
		}
		text := mcp.GetTextFromContent(got.Content[0])
		if got.IsError {
			fmt.Fprintf(os.Stderr, "%s: refused: %s\n", tool, text)
			return nil
		}
		var answer runAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			return fmt.Errorf("read the answer of %s: %w", tool, err)
		}
		if answer.RunID != "" {
			a.run = answer.RunID
		}
		if answer.Running || answer.Job != nil && answer.Job.Running {
			continue
		}
		a.note(answer)
		return nil
	}
}

// fill puts the last run into arguments.
func (a *agentState) fill(arguments map[string]any) (filled map[string]any, err error) {
	text, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(strings.ReplaceAll(string(text), "{run}", a.run)), &filled)
	return filled, err
}

func (a *agentState) note(answer runAnswer) {
	if answer.Job == nil || answer.Job.Table == nil {
		return
	}
	a.series++
	for _, row := range answer.Job.Table.Rows {
		if party := blamed(row.Blame); row.Failed > 0 && !slices.Contains(a.violated[party], row.Claim) {
			a.violated[party] = append(a.violated[party], row.Claim)
		}
	}
}

// blamed is the party that a row of the table blames.
func blamed(words string) string {
	switch first, _, _ := strings.Cut(strings.ToLower(words), ","); first {
	case "broker", "protocol implementation":
		return "broker"
	case "sdk", "sdk version":
		return "sdk"
	}
	return "undecided"
}

// conclusion is the last line of the answer.
func (a *agentState) conclusion() string {
	for _, party := range []string{"broker", "sdk", "undecided"} {
		if claims := a.violated[party]; len(claims) > 0 {
			if party == "undecided" {
				claims = nil
			}
			return "ANSWER: " + party + "; " + strings.Join(claims, ", ")
		}
	}
	if a.series == 0 {
		return "ANSWER: undecided; none"
	}
	return "ANSWER: nobody; none"
}
