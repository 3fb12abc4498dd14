package faults

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/near"
)

// maxDuration bounds every fault; an operator's envelope may lower it.
const maxDuration = 300 * time.Second

// Catalog is every kind of fault there is, by family.
func Catalog() []Kind {
	return slices.Concat(
		family("process", processKinds()),
		family("network", networkKinds()),
		family("disk", diskKinds()),
		family("time", timeKinds()),
		family("resource", resourceKinds()),
		family("client", clientKinds()),
		family("protocol", protocolKinds()),
		family("hostile", hostileKinds()),
		family("cluster", clusterKinds()),
	)
}

// family fills in what its kinds share, and the durations of those that say
// none.
func family(name string, kinds []Kind) []Kind {
	for i := range kinds {
		k := &kinds[i]
		k.Family = name
		k.DefaultDuration = cmp.Or(k.DefaultDuration, defaultDuration)
		k.MaxDuration = cmp.Or(k.MaxDuration, maxDuration)
	}
	return kinds
}

func processKinds() []Kind {
	return []Kind{
		kill(),
		stop(),
		restart(),
		pause(),
		killAll(),
		crashAt(),
	}
}

// A Kind describes one type of fault: what it does, what it takes, where it
// applies.
type Kind struct {
	Type            string
	Family          string // process, network, disk, time, resource, client, protocol, hostile, cluster
	Arms            string // what cluster_start has to arm for it: disk, clock, tap; "" for nothing
	Summary         string // one line
	Params          []Param
	Targets         []string // what it can be asked to act on
	Example         Example
	DefaultDuration time.Duration
	MaxDuration     time.Duration
	Draw            Draw
	// NeedsRestart says that a broker may write nothing more after it, also when it
	// is healed, until the broker is restarted.
	NeedsRestart bool
	// Leaves says that nobody can take back all it leaves at a broker: sessions and retained
	// messages under unknown names, or messages in the queues of other subscribers.
	Leaves bool
	// Ends says that the process of a node ends by it, or may, and is started again.
	Ends bool
	// Again marks a fault that starts a node again at once.
	Again bool
	// ByPID says that it finds the process of a node by its number. A container has none.
	ByPID bool
	// Cabled says that it needs the cables or the routes between nodes.
	Cabled bool
	// Ours says that it needs the data of a node, or starts it otherwise than it was.
	Ours bool
	// New makes one from parameters that were checked and filled in.
	New func(Params) (Fault, error)
	// Available answers the mechanism this host would use, and what it lacks
	// for it, "" for nothing.
	Available func(context.Context) (mechanism, missing string)
}

// OnNode reports whether a fault of the kind acts on a node, or on what is between nodes. At
// a broker of somebody else it needs the operator's consent, which names the process or the
// container. The others act on clients, or are clients.
func (k Kind) OnNode() bool {
	return k.Leaves || !slices.Contains([]string{"client", "protocol", "hostile"}, k.Family)
}

// Felt reports whether clients that are not of the run feel a fault of the kind: it acts on a
// node, or its clients take what others need.
func (k Kind) Felt() bool { return k.OnNode() || k.Family == "hostile" }

// An Example is a fault of a kind as one would ask for it on a live cluster of
// three nodes with clients, such that it lands, or may. `rmq-mcp doctor --faults`
// injects it for real.
type Example struct {
	Target string
	Params map[string]any // duration_s is required, short, and long enough for the proofs
	// Unsure marks faults of resources that a broker may not need in this time. Then they have
	// not landed.
	Unsure bool
}

// Parameters are the kind's own and duration_s, which all kinds take.
func (k Kind) Parameters() []Param {
	return append([]Param{{
		Name: "duration_s", Doc: "how long until it heals by itself",
		Default: k.DefaultDuration.Seconds(), Min: 0.1, Max: k.MaxDuration.Seconds(),
	}}, k.Params...)
}

// Parse makes a request for a fault of a type from parameters as they came
// from JSON or YAML. It changes nothing; its errors name the valid values.
func Parse(typ string, params map[string]any) (Request, error) {
	return parse(Catalog(), typ, params)
}

func parse(catalog []Kind, typ string, params map[string]any) (Request, error) {
	var types []string
	for _, k := range catalog {
		if k.Type == typ {
			return k.parse(params)
		}
		types = append(types, k.Type)
	}
	return Request{}, fmt.Errorf("no fault %q%s", typ, near.Hint(typ, types, "; valid: "+strings.Join(types, ", ")))
}

func (k Kind) parse(params map[string]any) (Request, error) {
	filled, err := fill(k.Parameters(), params)
	if err != nil {
		return Request{}, fmt.Errorf("fault %s: %w", k.Type, err)
	}
	f, err := k.New(filled)
	if err != nil {
		return Request{}, fmt.Errorf("fault %s: %w", k.Type, err)
	}
	if k.Leaves {
		f = leaving{f}
	}
	return Request{Fault: f, Type: k.Type, Params: filled, Duration: filled.Seconds("duration_s")}, nil
}
