// Package envelope holds the operator's limits, which no call of an agent can exceed.
// They bound the faults, their targets, how long they last and how many run at once.
// They name the programs and brokers that may be used, and the places for reports. A
// server reads the limits from a file and hands them to each keeper that it starts.
// The keeper checks again what only it knows: the nodes that a role means, and the
// faults already in place.
package envelope

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"go.yaml.in/yaml/v3"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
)

// An Envelope is the limits. A nil list of faults or targets is all of them,
// any other empty list is none; a total of 0 is no limit.
type Envelope struct {
	MaxExperiments      int      `yaml:"max_experiments" json:"max_experiments"` // live at once in one state directory; as many jobs beside them
	MaxNodes            int      `yaml:"max_nodes" json:"max_nodes"`
	MaxFaultDurationS   float64  `yaml:"max_fault_duration_s" json:"max_fault_duration_s"`
	MaxConcurrentFaults int      `yaml:"max_concurrent_faults" json:"max_concurrent_faults"`
	MaxTotalFaultS      float64  `yaml:"max_total_fault_s" json:"max_total_fault_s"` // of one experiment, all faults together
	AllowMajority       bool     `yaml:"allow_majority" json:"allow_majority"`       // more than half of the nodes under faults at once
	AllowedFaults       []string `yaml:"allowed_faults" json:"allowed_faults"`
	AllowedTargets      []string `yaml:"allowed_targets" json:"allowed_targets"`
	AllowedFlavors      []string `yaml:"allowed_flavors" json:"allowed_flavors"`
	AllowedRuntimes     []string `yaml:"allowed_runtimes" json:"allowed_runtimes"`
	AllowedBinaries     []string `yaml:"allowed_binaries" json:"allowed_binaries"`
	AllowedBrokers      []string `yaml:"allowed_brokers" json:"allowed_brokers"`   // documents of brokers, by path
	AllowedVersions     []string `yaml:"allowed_versions" json:"allowed_versions"` // to install from a registry: nats-server 2.14.4, or nats-server for every one
	AllowedImages       []string `yaml:"allowed_images" json:"allowed_images"`     // beside the vendor's released ones; with a tag, or without for every tag
	AllowedEndpoints    []string `yaml:"allowed_endpoints" json:"allowed_endpoints"`
	AllowedContainers   []string `yaml:"allowed_containers" json:"allowed_containers"`
	AllowedPIDs         []int    `yaml:"allowed_pids" json:"allowed_pids"`
	AllowedPods         []string `yaml:"allowed_pods" json:"allowed_pods"` // namespace/name
	Push                []string `yaml:"push" json:"push"`                 // directories, git remotes, github:owner/repo

	File  string         `yaml:"-" json:"file,omitempty"`  // that it was read from
	Lines map[string]int `yaml:"-" json:"lines,omitempty"` // of the keys in it
}

// Default returns the limits that apply without a file. They allow everything on
// clusters that we start, with brokers that this program brings or finds itself. They
// allow nothing elsewhere, and reports only into a folder of the state directory.
func Default(stateDir string) Envelope {
	e := Envelope{
		MaxExperiments:      8,
		MaxNodes:            5,
		MaxFaultDurationS:   300,
		MaxConcurrentFaults: 8,
		MaxTotalFaultS:      3600,
		AllowMajority:       true,
		AllowedFlavors:      cluster.FlavorNames(cluster.Own),
		AllowedRuntimes:     cluster.RuntimesHere(),
		Push:                []string{filepath.Join(stateDir, "published")},
	}
	for _, f := range cluster.Flavors() {
		if binary := os.Getenv(f.BinaryEnv); f.BinaryEnv != "" && binary != "" {
			e.AllowedBinaries = append(e.AllowedBinaries, binary)
		}
	}
	return e
}

// Read reads an operator's file over the defaults; "" is no file. An unknown
// key is an error: a limit that is spelled wrong would limit nothing.
func Read(file, stateDir string) (Envelope, error) {
	e := Default(stateDir)
	if file == "" {
		return e, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return e, fmt.Errorf("read the envelope: %w", err)
	}
	e.File = file
	if e.Lines, err = linesOf(text); err == nil {
		err = yamlfile.Decode(text, &e)
	}
	if err != nil && !errors.Is(err, io.EOF) { // an empty file sets nothing
		return e, fmt.Errorf("read the envelope %s: %s; docs/envelope.yaml has all keys", file, yamlfile.Words(err))
	}
	for _, path := range e.AllowedBrokers {
		if filepath.Clean(path) != path || !filepath.IsAbs(path) {
			return e, fmt.Errorf("read the envelope %s: allowed_brokers: %q must be an absolute path without detours", file, path)
		}
	}
	for _, limit := range []struct {
		key string
		bad bool
	}{
		{"max_experiments", e.MaxExperiments < 1},
		{"max_nodes", e.MaxNodes < 1},
		{"max_fault_duration_s", !(e.MaxFaultDurationS > 0)},
		{"max_concurrent_faults", e.MaxConcurrentFaults < 1},
		{"max_total_fault_s", !(e.MaxTotalFaultS >= 0)},
	} {
		if limit.bad {
			return e, fmt.Errorf("read the envelope %s: %s must be above 0, in %s", file, limit.key, e.where(limit.key))
		}
	}
	return e, nil
}

// linesOf are the lines in which keys are set. A key that is set to nothing is
// an error: to the decoder it would be as if it were left out.
func linesOf(text []byte) (map[string]int, error) {
	var file yaml.Node
	if err := yaml.Unmarshal(text, &file); err != nil || len(file.Content) == 0 {
		return nil, err
	}
	lines := map[string]int{}
	pairs := file.Content[0].Content
	for i := 0; i+1 < len(pairs); i += 2 {
		key, value := pairs[i], pairs[i+1]
		if value.Tag == "!!null" {
			return nil, fmt.Errorf("line %d: %s has no value", key.Line, key.Value)
		}
		lines[key.Value] = key.Line
	}
	return lines, nil
}

// where says which line holds a key.
func (e Envelope) where(key string) string {
	line, set := e.Lines[key]
	switch {
	case e.File == "":
		return "the default; an operator's file is given by `rmq-mcp serve --envelope FILE`"
	case !set:
		return "the default, as " + e.File + " does not set it"
	}
	return fmt.Sprintf("line %d of %s", line, e.File)
}

// over refuses what is more than a limit.
func (e Envelope) over(what, key string, limit any, instead string) error {
	return fmt.Errorf("%s: the operator's envelope has %s: %v (%s); %s. Nothing was changed", what, key, limit, e.where(key), instead)
}

// missing refuses what a list does not have.
func (e Envelope) missing(what, key string, value any) error {
	return fmt.Errorf("%s is outside the operator's envelope: %s does not name it (%s); if the operator wants it, add %s to `%s`. Nothing was changed",
		what, key, e.where(key), quoted(value), key)
}

func quoted(value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprint(value)
}
