package envelope

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/cluster"
)

// Experiment checks that one more may be started beside those that are live.
func (e Envelope) Experiment(live int) error {
	return e.oneMore("experiment", live, "live", "end one with cluster_stop or stop_run, or wait")
}

// Job checks that one more may begin beside those that are worked on.
func (e Envelope) Job(busy int) error {
	return e.oneMore("job", busy, "worked on", "end one with stop_run, or wait")
}

func (e Envelope) oneMore(what string, beside int, are, next string) error {
	if beside < e.MaxExperiments {
		return nil
	}
	return e.over(fmt.Sprintf("one %s more, beside %d that are %s,", what, beside, are), "max_experiments", e.MaxExperiments, next)
}

// Cluster checks a cluster that is asked for.
func (e Envelope) Cluster(c cluster.Config) error {
	if c.Nodes > e.MaxNodes {
		return e.over(fmt.Sprintf("%d nodes are too many", c.Nodes), "max_nodes", e.MaxNodes, "ask for fewer")
	}
	for _, endpoint := range c.Endpoints {
		if !slices.Contains(e.AllowedEndpoints, endpoint) {
			return e.missing("endpoint "+endpoint, "allowed_endpoints", endpoint)
		}
	}
	// Brokers of somebody else need no permission here: naming their endpoints,
	// containers or processes permits them.
	if c.Broker != "" || c.Document != nil {
		if !slices.Contains(e.AllowedBrokers, c.Broker) {
			return e.missing(fmt.Sprintf("the document %q", c.Broker), "allowed_brokers", c.Broker)
		}
	} else if c.Flavor != "" && !c.Foreign() && !slices.Contains(e.AllowedFlavors, c.Flavor) {
		return e.missing(fmt.Sprintf("flavor %q (allowed: %s)", c.Flavor, strings.Join(e.AllowedFlavors, ", ")), "allowed_flavors", c.Flavor)
	}
	if c.Version != "" && !c.Imaged() && cluster.FlavorNamed(c.Flavor).Document != nil {
		asked := c.Flavor + " " + strings.TrimPrefix(c.Version, "v")
		if !slices.Contains(e.AllowedVersions, asked) && !slices.Contains(e.AllowedVersions, c.Flavor) {
			return e.missing("the installation of "+asked, "allowed_versions", asked)
		}
	}
	runtime := c.Runtime
	if runtime != "" && !c.Foreign() && !slices.Contains(e.AllowedRuntimes, runtime) {
		return e.missing(fmt.Sprintf("runtime %q (allowed: %s)", runtime, strings.Join(e.AllowedRuntimes, ", ")), "allowed_runtimes", runtime)
	}
	if c.Image != "" && !cluster.VendorsImage(c) && !e.allowsImage(c.Image) {
		return e.missing("image "+c.Image, "allowed_images", c.Image)
	}
	if err := e.External(c.Containers, c.PIDs, c.Pods); err != nil {
		return err
	}
	if c.Binary != "" && !c.Imaged() {
		if err := e.Binary(c.Binary); err != nil {
			return err
		}
	}
	if err := errors.Join(cluster.CheckFits(c), unchanged(c)); err != nil {
		return fmt.Errorf("config: %w. Nothing was changed", err)
	}
	return nil
}

// unchanged is an error if a document has another text than its file. A stored run may
// have any, and the operator allows the file.
func unchanged(c cluster.Config) error {
	if c.Document == nil {
		return nil
	}
	text, err := cluster.DocumentText(c.Broker)
	if err == nil && text != c.Document.Text() {
		err = fmt.Errorf("%s was changed since; run the scenario again with the file as it is now", c.Broker)
	}
	return err
}

// allowsImage takes an image by its whole name, or by the name without tag.
func (e Envelope) allowsImage(image string) bool {
	name := image
	if colon := strings.LastIndexByte(image, ':'); colon > strings.LastIndexByte(image, '/') {
		name = image[:colon]
	}
	return slices.Contains(e.AllowedImages, image) || slices.Contains(e.AllowedImages, name)
}

// Binary checks a program that is asked for by its path.
func (e Envelope) Binary(path string) error {
	if !slices.Contains(e.AllowedBinaries, path) {
		return e.missing("binary "+path, "allowed_binaries", path)
	}
	return nil
}

// External checks processes, containers and pods of somebody else.
func (e Envelope) External(containers []string, pids []int, pods []string) error {
	for _, name := range pods {
		if !slices.Contains(e.AllowedPods, name) {
			return e.missing("pod "+name, "allowed_pods", name)
		}
	}
	for _, name := range containers {
		if !slices.Contains(e.AllowedContainers, name) {
			return e.missing("container "+name, "allowed_containers", name)
		}
	}
	for _, pid := range pids {
		if !slices.Contains(e.AllowedPIDs, pid) {
			return e.missing(fmt.Sprintf("process %d", pid), "allowed_pids", pid)
		}
	}
	return nil
}

// A Fault is one that is asked for, as far as it is known before its target is
// resolved.
type Fault struct {
	Type     string
	Targets  []string // as asked: one, or the two sides of a link; none: not known
	Duration time.Duration
	Params   map[string]any
}

// Fault checks a fault by what is asked for.
func (e Envelope) Fault(f Fault) error {
	if e.AllowedFaults != nil && !slices.Contains(e.AllowedFaults, f.Type) {
		return e.missing(fmt.Sprintf("fault %q (allowed: %s)", f.Type, strings.Join(e.AllowedFaults, ", ")), "allowed_faults", f.Type)
	}
	for _, target := range f.Targets {
		if e.AllowedTargets != nil && !slices.Contains(e.AllowedTargets, target) {
			return e.missing(fmt.Sprintf("target %q (allowed: %s)", target, strings.Join(e.AllowedTargets, ", ")), "allowed_targets", target)
		}
	}
	if f.Duration.Seconds() > e.MaxFaultDurationS {
		return e.over(fmt.Sprintf("a %s of %g s is too long", f.Type, f.Duration.Seconds()), "max_fault_duration_s", e.MaxFaultDurationS, "ask for a duration_s up to that")
	}
	if binary, _ := f.Params["binary"].(string); binary != "" {
		return e.Binary(binary)
	}
	return nil
}

// A Load is what an experiment's faults amount to, a new one among them.
type Load struct {
	Concurrent int           // faults at once
	Total      time.Duration // of all faults so far
	Nodes      int           // of the cluster
	Under      []string      // those of them under faults at once
}

// Load checks what faults amount to, which is known once a fault's target was
// resolved.
func (e Envelope) Load(l Load) error {
	if l.Concurrent > e.MaxConcurrentFaults {
		return e.over(fmt.Sprintf("%d faults at once are too many", l.Concurrent), "max_concurrent_faults", e.MaxConcurrentFaults, "heal one with heal_fault, or wait")
	}
	if err := e.Together(l.Total); err != nil {
		return err
	}
	if !e.AllowMajority && 2*len(l.Under) > l.Nodes {
		return e.over(fmt.Sprintf("%s are %d of %d nodes, a majority", strings.Join(l.Under, ", "), len(l.Under), l.Nodes), "allow_majority", false, "choose fewer nodes, or heal others first")
	}
	return nil
}

// Together checks how long all faults of an experiment last.
func (e Envelope) Together(total time.Duration) error {
	if e.MaxTotalFaultS > 0 && total.Seconds() > e.MaxTotalFaultS {
		return e.over(fmt.Sprintf("%.4g s of faults in one experiment are too much", total.Seconds()), "max_total_fault_s", e.MaxTotalFaultS, "ask for a shorter one, or start another experiment")
	}
	return nil
}

// Destination answers where a report may go: the one asked for if it is
// allowed, else the first allowed one.
func (e Envelope) Destination(asked string) (string, error) {
	if asked = strings.TrimSpace(asked); filepath.IsAbs(asked) {
		asked = filepath.Clean(asked) // what is published takes it without blanks too
	}
	if asked == "" && len(e.Push) > 0 {
		return e.Push[0], nil
	}
	if asked == "" {
		return "", errors.New("the operator's envelope allows no push destination: push is empty (" + e.where("push") + "). Nothing was published")
	}
	for _, allowed := range e.Push {
		if asked == allowed || filepath.IsAbs(asked) && filepath.IsAbs(allowed) && within(allowed, asked) {
			return asked, nil
		}
	}
	return "", e.missing(fmt.Sprintf("push destination %q (allowed: %s)", asked, strings.Join(e.Push, ", ")), "push", asked)
}

// within reports whether path is dir or under it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, filepath.Clean(path))
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}
