package tools

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/robustmq/rmq-mcp/cluster"
)

// An Envelope is the operator's limits, which no tool call can leave. Zero
// numbers and nil lists take the default's.
type Envelope struct {
	MaxNodes            int      `yaml:"max_nodes"`
	MaxFaultDurationS   float64  `yaml:"max_fault_duration_s"`
	MaxConcurrentFaults int      `yaml:"max_concurrent_faults"`
	AllowedFlavors      []string `yaml:"allowed_flavors"`
	AllowedFaults       []string `yaml:"allowed_faults"` // nil: all
	AllowedBinaries     []string `yaml:"allowed_binaries"`
	AllowedEndpoints    []string `yaml:"allowed_endpoints"`
	Push                []string `yaml:"push"` // directories, git remotes, github:owner/repo

	file string
}

// DefaultEnvelope is what applies without a file: brokers that the server
// brings or finds itself, and reports only into a folder of the state
// directory.
func DefaultEnvelope(stateDir string) Envelope {
	e := Envelope{
		MaxNodes:            5,
		MaxFaultDurationS:   120,
		MaxConcurrentFaults: 3,
		AllowedFlavors:      []string{"reference", "mosquitto", "robustmq"},
		Push:                []string{filepath.Join(stateDir, "published")},
	}
	if binary := os.Getenv("RMQ_ROBUSTMQ_BIN"); binary != "" {
		e.AllowedBinaries = []string{binary}
	}
	return e
}

// LoadEnvelope reads an operator's file over the defaults. An unknown key is
// an error: a limit that is spelled wrong would limit nothing.
func LoadEnvelope(file, stateDir string) (Envelope, error) {
	e := DefaultEnvelope(stateDir)
	if file == "" {
		return e, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return e, fmt.Errorf("read the envelope: %w", err)
	}
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&e); err != nil && !errors.Is(err, io.EOF) {
		return e, fmt.Errorf("read the envelope %s: %w", file, err)
	}
	e.file = file
	if e.MaxNodes < 1 || e.MaxFaultDurationS <= 0 || e.MaxConcurrentFaults < 1 {
		return e, fmt.Errorf("read the envelope %s: max_nodes, max_fault_duration_s and max_concurrent_faults must be above 0", file)
	}
	return e, nil
}

// refuse names the line that the operator would have to add.
func (e Envelope) refuse(what, key, value string) error {
	where := "start the server with --envelope FILE, where FILE has"
	if e.file != "" {
		where = "add to " + e.file
	}
	return fmt.Errorf("%s is outside the operator's envelope; if the operator wants it: %s `%s: [%s]`. Nothing was changed", what, where, key, value)
}

// Cluster checks a cluster that is asked for.
func (e Envelope) Cluster(c cluster.Config) error {
	if c.Nodes > e.MaxNodes {
		return fmt.Errorf("%d nodes are more than the operator's envelope allows (max_nodes: %d); ask for fewer. Nothing was changed", c.Nodes, e.MaxNodes)
	}
	flavor := c.Flavor
	if flavor == "" && len(c.Endpoints) > 0 {
		flavor = "external"
	}
	if flavor == "external" && len(c.Endpoints) == 0 {
		return errors.New("flavor external needs config.endpoints, such as [\"broker:1883\"]. Nothing was changed")
	}
	for _, endpoint := range c.Endpoints {
		if !slices.Contains(e.AllowedEndpoints, endpoint) {
			return e.refuse("endpoint "+endpoint, "allowed_endpoints", endpoint)
		}
	}
	// Endpoints that the operator named are the permission for their flavor.
	if flavor != "" && flavor != "external" && !slices.Contains(e.AllowedFlavors, flavor) {
		return e.refuse(fmt.Sprintf("flavor %q (allowed: %s)", flavor, strings.Join(e.AllowedFlavors, ", ")), "allowed_flavors", flavor)
	}
	if c.Binary != "" && !slices.Contains(e.AllowedBinaries, c.Binary) {
		return e.refuse("binary "+c.Binary, "allowed_binaries", c.Binary)
	}
	return checkSettings(c.Settings)
}

// plainSetting is a value that no broker's configuration can read as more than
// one value: a line break in one would add directives that the flavor does not
// offer, such as files to write and code to load.
var plainSetting = regexp.MustCompile(`^[A-Za-z0-9_.:+-]*$`)

func checkSettings(settings map[string]any) error {
	for _, key := range sortedKeys(settings) {
		switch v := settings[key].(type) {
		case bool, float64:
			continue
		case string:
			if plainSetting.MatchString(v) {
				continue
			}
		}
		return fmt.Errorf("config.settings: %q is %s, expected a number, true, false or one plain word. Nothing was changed", key, describe(settings[key]))
	}
	return nil
}

// Fault checks a fault that is asked for, with those in place already.
func (e Envelope) Fault(kind string, duration time.Duration, inPlace int) error {
	if e.AllowedFaults != nil && !slices.Contains(e.AllowedFaults, kind) {
		return e.refuse(fmt.Sprintf("fault %q (allowed: %s)", kind, strings.Join(e.AllowedFaults, ", ")), "allowed_faults", kind)
	}
	if limit := e.MaxFaultDurationS; duration.Seconds() > limit {
		return fmt.Errorf("a fault of %s s is longer than the operator's envelope allows (max_fault_duration_s: %s); ask for a duration_s up to that. Nothing was changed",
			number(duration.Seconds()), number(limit))
	}
	if inPlace >= e.MaxConcurrentFaults {
		return fmt.Errorf("%s in place already, as many as the operator's envelope allows (max_concurrent_faults: %d); heal one with heal_fault, or wait. Nothing was changed",
			plural(inPlace, "fault"), e.MaxConcurrentFaults)
	}
	return nil
}

// Destination answers where a report may go: the one asked for if it is
// allowed, else the first allowed one.
func (e Envelope) Destination(asked string) (string, error) {
	if asked == "" && len(e.Push) > 0 {
		return e.Push[0], nil
	}
	if asked == "" {
		return "", errors.New("the operator's envelope allows no push destination (`push:` is empty). Nothing was published")
	}
	for _, allowed := range e.Push {
		if asked == allowed || isPath(asked) && isPath(allowed) && within(allowed, asked) {
			return asked, nil
		}
	}
	return "", e.refuse(fmt.Sprintf("push destination %q (allowed: %s)", asked, strings.Join(e.Push, ", ")), "push", asked)
}

func isPath(s string) bool { return filepath.IsAbs(s) }

// within reports whether path is dir or under it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, filepath.Clean(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
