package reports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A Repetition is how a run is made again.
type Repetition struct {
	Command   string   // "" of an exploration by hand
	NotChosen []string // what the run had, and a command that others can use does not say
}

// asked is what [StartFile] says of how a run was started, as far as run.json does not.
// Older runs have none.
type asked struct {
	Cluster struct {
		Image         string                     `json:"image"`
		Version       string                     `json:"version"`
		VersionSHA256 string                     `json:"version_sha256"`
		CA            string                     `json:"ca"`
		Username      string                     `json:"username"`
		Containers    []string                   `json:"containers"`
		PIDs          []int                      `json:"pids"`
		Pods          []string                   `json:"pods"`
		Settings      map[string]json.RawMessage `json:"settings"`
		Arm           []string                   `json:"arm"`
		Plant         string                     `json:"plant"`
		DiskModel     string                     `json:"disk_model"`
		Broker        string                     `json:"broker"`
	} `json:"cluster"`
	OffNodes bool `json:"off_nodes"`
}

// wordForm is what a word may look like that becomes part of a command: a shell takes it
// for nothing else.
var wordForm = regexp.MustCompile(`^[\w./:@=+-]+$`)

// endpointForm is what an endpoint may look like: it becomes part of a command.
var endpointForm = regexp.MustCompile(`^[\w.:\[\]-]+$`)

// EndpointsOf are those of external brokers.
func EndpointsOf(c history.ClusterInfo) (list []string) {
	all, _ := c.Config["endpoints"].([]any)
	for _, e := range all {
		if text, ok := e.(string); ok && endpointForm.MatchString(text) {
			list = append(list, text)
		}
	}
	return list
}

// Reproduce returns how a run is made again, from what its evidence says of how it was
// made. Paths of this machine are left out: what is reported may be published.
func (d Dir) Reproduce(run *history.Run) (Repetition, error) {
	var start asked
	err := stored.ReadJSON(d.File(EvidenceDir, StartFile), &start)
	if errors.Is(err, fs.ErrNotExist) {
		start.Cluster.Plant = run.Cluster.Planted
		if run.Wire {
			start.Cluster.Arm = []string{"tap"}
		}
	} else if err != nil {
		return Repetition{}, fmt.Errorf("read how run %s was started: %w; `rmq-mcp verify` says what was changed", run.ID, err)
	}
	if run.Scenario == "" {
		return Repetition{}, nil
	}
	return reproduce(run, start), nil
}

func reproduce(run *history.Run, start asked) (again Repetition) {
	if !wordForm.MatchString(run.Scenario) {
		again.without("anything: the scenario's name is not one word")
		return again
	}
	again.Command = "rmq-mcp run " + run.Scenario
	if run.Control {
		again.Command += " --no-faults"
	}
	endpoints, c := EndpointsOf(run.Cluster), start.Cluster
	flavor, nodes := run.Cluster.Flavor, fmt.Sprint(run.Cluster.Nodes)
	profile, runtime := unusual(run.Cluster.Profile, "tested"), unusual(run.Cluster.Runtime, "process")
	if len(endpoints) > 0 { // which say both
		flavor, nodes, profile, runtime = "", "", "", ""
	}
	for _, e := range endpoints {
		again.Command += " --endpoint " + e
	}
	if c.Broker != "" {
		again.Command += " --broker " + DocumentFile
		again.without("the document of the broker, which is %s/%s of the run", EvidenceDir, DocumentFile)
	} else {
		again.flag("flavor", flavor)
	}
	again.flag("broker-version", c.Version)
	again.flag("broker-sha256", c.VersionSHA256)
	again.flag("image", c.Image)
	again.flag("nodes", unusual(nodes, "0"))
	again.flag("sdk", run.SDK)
	again.flag("protocol", run.Protocol)
	again.flag("transport", unusual(run.Transport, "tcp"))
	again.flag("profile", profile)
	for _, key := range sortedKeys(c.Settings) {
		again.flag("set", key+"="+settingWord(c.Settings[key]))
	}
	again.flag("runtime", runtime)
	again.flag("drivers", unusual(fmt.Sprint(max(run.Drivers, 1)), "1"))
	for _, arm := range c.Arm {
		again.flag("arm", arm)
	}
	again.flag("disk-model", c.DiskModel)
	again.flag("plant", c.Plant)
	again.flag("seed", unusual(fmt.Sprint(run.Seed), "0"))
	again.flag("tier", run.Tier)

	if sha := run.Cluster.BinarySHA; sha != "" && c.Version == "" && c.Image == "" {
		again.without("the broker's binary, which had the sha256 %s", sha)
	}
	if c.CA != "" {
		again.without("the certificate that the clients trusted (--ca)")
	}
	if c.Username != "" {
		again.without("the login of the clients (--username, and its password in RMQ_PASSWORD)")
	}
	if len(c.Containers)+len(c.PIDs)+len(c.Pods) > 0 {
		again.without("the processes, containers or pods of the brokers, for the faults on them (--pid, --container, --pod)")
	}
	if start.OffNodes && len(endpoints) == 0 { // of somebody else's brokers they are left out anyway
		again.without("to leave out faults on nodes, as the run did")
	}
	return again
}

// flag adds a flag that has a value. One that a shell would take for more is only named.
func (r *Repetition) flag(name, value string) {
	switch {
	case value == "":
	case wordForm.MatchString(value):
		r.Command += " --" + name + " " + value
	default:
		r.without("--%s, whose value is not one word: %s", name, value)
	}
}

func (r *Repetition) without(what string, args ...any) {
	r.NotChosen = append(r.NotChosen, fmt.Sprintf(what, args...))
}

// settingWord is the value of a setting, as a command has it.
func settingWord(value json.RawMessage) string {
	var word string
	if json.Unmarshal(value, &word) == nil {
		return word
	}
	return string(value)
}

// unusual is a value, "" for the one that a run has unless it is asked for another.
func unusual(value, usual string) string {
	if value == usual {
		return ""
	}
	return value
}
