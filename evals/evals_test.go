package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/testing/hosttest"
)

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "scripted" { // the agent that run starts
		main()
		return
	}
	if len(os.Args) == 3 && os.Args[1] == "impatient" {
		if err := impatient(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func TestTasks(t *testing.T) {
	all, err := tasks()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 20 {
		t.Errorf("only %d tasks", len(all))
	}
	for _, task := range all {
		if prompt := task.prompt(&Stage{endpoint: "127.0.0.1:1883", binary: "/opt/mosquitto"}); strings.ContainsAny(prompt, "{}%") {
			t.Errorf("%s: %s", task.Name, prompt)
		}
		for _, claim := range task.Truth.Claims {
			if strings.Contains(task.Question, claim) {
				t.Errorf("%s: the question names %s", task.Name, claim)
			}
		}
	}
}

func TestParseTask(t *testing.T) {
	const whole = "question: Is it?\ntruth: {party: nobody}\nlimits: {calls: 1, characters: 1, minutes: 1}\nscript: [{tool: preflight}]\n"
	if _, err := parseTask([]byte(whole)); err != nil {
		t.Error(err)
	}
	for old, new := range map[string]string{"Is it?": "''", "nobody": "somebody", "calls: 1": "calls: 0", "[{tool: preflight}]": "[]", "question": "qestion"} {
		if task, err := parseTask([]byte(strings.Replace(whole, old, new, 1))); err == nil {
			t.Errorf("%s: %+v", new, task)
		}
	}
}

func TestReadAnswer(t *testing.T) {
	for said, want := range map[string]Answer{
		"It is so.\nANSWER: broker; qos1-no-loss, order-per-stream\n": {"broker", []string{"qos1-no-loss", "order-per-stream"}},
		"**ANSWER: SDK; `sdk-honest`**":                               {"sdk", []string{"sdk-honest"}},
		"ANSWER: broker; a\nNo, rather\nANSWER: nobody; none\n\nBye.": {"nobody", nil},
		"ANSWER: undecided":    {"undecided", nil},
		"ANSWER: nobody; None": {"nobody", nil},
	} {
		if got, err := readAnswer(said); err != nil || !cmp.Equal(want, got) {
			t.Errorf("%q: %+v, %v", said, got, err)
		}
	}
	for _, said := range []string{"", "It is the broker.", "ANSWER: the weather; none"} {
		if got, err := readAnswer(said); err == nil {
			t.Errorf("%q: %+v", said, got)
		}
	}
}

// An answer that is right by luck, or that says more than the record holds, is none.
func TestVerify(t *testing.T) {
	task := Task{Truth: Truth{Party: "broker", Claims: []string{"a"}}, Published: true, Limits: Limits{Calls: 3, Characters: 100, Minutes: 1}}
	record := Record{Calls: 3, Took: time.Minute, Characters: 100, Runs: 4, Passed: 2, Published: 1, Failed: map[string][]string{"broker": {"a", "b"}}}
	right := Answer{Party: "broker", Claims: []string{"a", "b"}}
	for _, test := range []struct {
		name   string
		change func(*Task, *Record, *Answer)
		want   string // "" for none
	}{
		{"right", func(*Task, *Record, *Answer) {}, ""},
		{"another party", func(_ *Task, _ *Record, a *Answer) { *a = Answer{Party: "nobody"} }, "the truth is broker"},
		{"a claim is missing", func(_ *Task, _ *Record, a *Answer) { a.Claims = []string{"b"} }, "does not name a"},
		{"never shown", func(_ *Task, r *Record, _ *Answer) { r.Failed = nil }, "no run of its record shows that"},
		{"more than was shown", func(_ *Task, _ *Record, a *Answer) { a.Claims = []string{"a", "c"} }, "violates c"},
		{"nobody, and nothing was run", func(t *Task, r *Record, a *Answer) {
			t.Truth, *a, r.Passed = Truth{Party: "nobody"}, Answer{Party: "nobody"}, 0
		}, "none of its 4 runs passed"},
		{"not published", func(_ *Task, r *Record, _ *Answer) { r.Published = 0 }, "published nothing"},
		{"published unasked", func(t *Task, _ *Record, _ *Answer) { t.Published = false }, "unasked"},
		{"calls", func(_ *Task, r *Record, _ *Answer) { r.Calls++ }, "4 calls"},
		{"characters", func(_ *Task, r *Record, _ *Answer) { r.Characters++ }, "101 characters"},
		{"time", func(t *Task, _ *Record, _ *Answer) { t.Limits.Minutes = 0.5 }, "it took 1m0s"},
	} {
		task, record, answer := task, record, right
		test.change(&task, &record, &answer)
		got := strings.Join(task.verify(record, answer), "; ")
		if test.want == "" && got != "" || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}

// The agent without a model finds each truth in few calls, so that a task can be done.
func TestScriptedAgent(t *testing.T) {
	hosttest.Long(t, "it runs scenarios")
	if _, err := mosquitto(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	var out bytes.Buffer
	const some = "asks-for-a-pass,false-acknowledgement,lying-log,not-allowed,qos2-twice" // of each kind one
	if err := run(context.Background(), []string{"-dir", t.TempDir(), "-task", some}, &out); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
	t.Log("\n" + out.String())
}

// impatient is an agent that begins runs, and says something before the first has ended.
func impatient(config string) error {
	c, err := connect(context.Background(), config)
	if err != nil {
		return err
	}
	defer c.Close()
	ask := mcp.CallToolRequest{}
	ask.Params.Name, ask.Params.Arguments = "run_scenario", map[string]any{"scenario": "mqtt/qos-roundtrip", "repeats": 5, "wait_s": 0}
	if got, err := c.CallTool(context.Background(), ask); err != nil || got.IsError {
		return fmt.Errorf("run_scenario: %+v, %w", got, err)
	}
	_, err = fmt.Println("ANSWER: nobody; none")
	return err
}

// The runs that an agent began and did not wait for end with its task.
func TestLeftRunning(t *testing.T) {
	hosttest.Long(t, "it runs scenarios")
	dir := t.TempDir()
	server, err := buildServer(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	task := Task{Name: "left-running", Question: "Is it?", Truth: Truth{Party: "nobody"}, Limits: Limits{Calls: 1, Characters: 1e6, Minutes: 5}}
	if _, err := (Agent{self, "impatient", "{mcp}"}).try(t.Context(), task, server, dir, io.Discard); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	jobs, err := os.ReadDir(filepath.Join(state, campaigns.JobsDir))
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs were begun, %v", len(jobs), err)
	}
	busy, err := campaigns.BusyJobs(state)
	if err != nil || len(busy) > 0 {
		t.Errorf("%d jobs go on, %v", len(busy), err)
	}
	if live, err := keeper.List(state); err != nil || len(live) > 0 {
		t.Errorf("%d experiments go on, %v", len(live), err)
	}
}

// An agent that says what it did not see is found out.
func TestGuessingAgent(t *testing.T) {
	if _, err := mosquitto(); err != nil {
		hosttest.Skip(t, err.Error())
	}
	var out bytes.Buffer
	err := run(context.Background(), []string{"-dir", t.TempDir(), "-server", "/nonexistent", "-task", "qos2-twice", "--", "echo", "ANSWER: broker; qos2-exactly-once"}, &out)
	if err != errWrong || !strings.Contains(out.String(), "no run of its record shows that") || !strings.Contains(out.String(), "published nothing") {
		t.Errorf("%v: %s", err, out.String())
	}
}
