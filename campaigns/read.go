package campaigns

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
)

// Read judges a run again, from what was recorded, and returns it as a cell. It is an error
// if the run has not ended.
func Read(dir string) (Cell, error) {
	d, err := reports.Open(dir)
	if err != nil {
		return Cell{}, err
	}
	seal, err := reports.Dir(dir).Seal()
	if errors.Is(err, fs.ErrNotExist) {
		return Cell{}, fmt.Errorf("run %s is not sealed yet; wait until it has ended: %w", d.Run.ID, err)
	} else if err != nil {
		return Cell{}, err
	}
	return read(d, seal.Root)
}

// ReadUnsealed is [Read], except that the run need not be sealed; its cell then has no root.
func ReadUnsealed(dir string) (Cell, error) {
	d, err := reports.Open(dir)
	if err != nil {
		return Cell{}, err
	}
	root := ""
	if seal, err := reports.Dir(dir).Seal(); err == nil {
		root = seal.Root
	}
	return read(d, root)
}

// read judges a run whose seal has a root, "" for none.
func read(d *reports.RunDir, root string) (Cell, error) {
	v, found, err := d.Judge()
	if err != nil {
		return Cell{}, err
	}
	earlier, err := speaksEarlier(d.Dir, d.Run.SDK)
	if err != nil {
		return Cell{}, err
	}
	panics, err := PanicPlaces(d, v)
	if err != nil {
		return Cell{}, err
	}
	return Cell{
		RunID: d.Run.ID, Root: root, Scenario: d.Run.Scenario, ScenarioSHA: d.Run.ScenarioSHA, Seed: d.Run.Seed, Tier: d.Run.Tier, Budget: d.Run.Budget,
		SDK: d.Run.SDK, Protocol: d.Run.Protocol, NoFaults: d.Run.Control || len(d.Run.Faults) == 0, Baseline: d.Run.Control, LeftOut: strings.Join(d.Run.LeftOut, ", "), Spread: d.Run.Spread, Transport: cmp.Or(d.Run.Transport, "tcp"), Broker: BrokerOf(d.Run.Cluster),
		Wire: d.Run.Wire, Earlier: earlier, Verdict: v, Shortfalls: d.Shortfalls(found), Panics: panics, StarvedS: found.Coverage.HostStarvedS, Harness: d.Harness,
	}, nil
}

// ReadAll reads the runs that are to be compared.
func ReadAll(dirs []string) ([]Cell, error) {
	cells := make([]Cell, len(dirs))
	for i, dir := range dirs {
		var err error
		if cells[i], err = Read(dir); err != nil {
			return nil, fmt.Errorf("compare: %w", err)
		}
	}
	return cells, nil
}

// BrokerOf is the broker that a run was on.
func BrokerOf(c history.ClusterInfo) Broker {
	var differs []string
	for _, key := range slices.Sorted(maps.Keys(c.Differs)) {
		differs = append(differs, key+": "+c.Differs[key])
	}
	build := c.BinarySHA
	if cluster.FlavorNamed(c.Flavor).Embedded { // this program changes without it
		build = ""
	}
	return Broker{
		Flavor: c.Flavor, Version: c.Version, Build: build, Document: c.Document, Profile: c.Profile, Runtime: c.Runtime, Nodes: c.Nodes,
		Differs: strings.Join(differs, "; "), At: strings.Join(reports.EndpointsOf(c), ","), Plant: c.Planted,
	}
}
