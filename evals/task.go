package main

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/yamlfile"
)

// A Task is a question to an agent, with a truth that only the task knows.
type Task struct {
	Name      string `yaml:"-"`
	Question  string `yaml:"question"` // {endpoint} is the broker's address, {binary} the program's
	Broker    Broker `yaml:"broker"`
	Envelope  string `yaml:"envelope"` // more of the operator's limits, as YAML
	Truth     Truth  `yaml:"truth"`
	Limits    Limits `yaml:"limits"`
	Script    []Call `yaml:"script"` // calls that find it, of the scripted agent
	Published bool   `yaml:"published"`
}

// A Broker is made for the task, before the agent begins. The agent starts its own where
// there is none.
type Broker struct {
	Listens bool     `yaml:"listens"` // a mosquitto at {endpoint}
	Plant   string   `yaml:"plant"`   // the defect of a proxy before it, as `selftest` names them
	Says    []string `yaml:"says"`    // lines that the program {binary}, a mosquitto, prints beside its own
}

// Truth is what a right answer says.
type Truth struct {
	Party  string   `yaml:"party"`  // broker, sdk, nobody, undecided
	Claims []string `yaml:"claims"` // that an answer has to name
}

// Limits of an agent. Characters are those of the answers that it was given.
type Limits struct {
	Calls      int     `yaml:"calls"`
	Characters int     `yaml:"characters"`
	Minutes    float64 `yaml:"minutes"`
}

// A Call is one of the scripted agent: a tool with its arguments. {endpoint} and
// {binary} are those of the question, {run} is the last run or series.
type Call struct {
	Tool      string         `yaml:"tool"`
	Arguments map[string]any `yaml:"arguments"`
}

//go:embed tasks/*.yaml
var files embed.FS

// parties are those that an answer may name.
var parties = []string{"broker", "sdk", "nobody", "undecided"}

// tasks are all, by name.
func tasks() ([]Task, error) {
	names, err := fs.Glob(files, "tasks/*.yaml")
	if err != nil {
		return nil, err
	}
	var all []Task
	for _, name := range names {
		text, err := files.ReadFile(name)
		if err != nil {
			return nil, err
		}
		t, err := parseTask(text)
		if err != nil {
			return nil, fmt.Errorf("task %s: %s", name, yamlfile.Words(err))
		}
		t.Name = strings.TrimSuffix(path.Base(name), ".yaml")
		all = append(all, t)
	}
	return all, nil
}

func parseTask(text []byte) (t Task, err error) {
	if err := yamlfile.Decode(text, &t); err != nil {
		return t, err
	}
	switch {
	case strings.TrimSpace(t.Question) == "":
		err = fmt.Errorf("it has no question")
	case !slices.Contains(parties, t.Truth.Party):
		err = fmt.Errorf("truth.party is %q; it is one of %s", t.Truth.Party, strings.Join(parties, ", "))
	case t.Limits.Calls < 1 || t.Limits.Characters < 1 || t.Limits.Minutes <= 0:
		err = fmt.Errorf("limits are calls, characters and minutes, each above 0")
	case len(t.Script) == 0:
		err = fmt.Errorf("it has no script")
	}
	return t, err
}

// rules end every question.
const rules = `
You have the tools of the MCP server rmq-mcp, and nothing else. %s
End your answer with one line of the form

ANSWER: PARTY; CLAIM, CLAIM

PARTY is broker, sdk (a client library), nobody (nothing is wrong) or undecided (it could not be found out here). The claims
are the names, as the tools have them, of those that this party violates. Without any: ANSWER: nobody; none
`

// prompt is what an agent is given.
func (t Task) prompt(s *Stage) string {
	end := "Publish nothing."
	if t.Published {
		end = "Publish what you found with push_report."
	}
	return s.fill(strings.TrimSpace(t.Question)) + "\n" + fmt.Sprintf(rules, end)
}
