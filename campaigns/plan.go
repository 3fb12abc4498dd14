package campaigns

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/cluster"
)

// A Plan is a matrix before it is run: its cells, and what they share.
type Plan struct {
	Scenarios []Scene        `json:"scenarios"`
	Tier      string         `json:"tier"`
	Config    cluster.Config `json:"config"` // of the cluster; each cell has its own flavor
	Entries   []Entry        `json:"entries"`
	Repeat    int            `json:"repeat"`  // runs of each cell
	Seed      int64          `json:"seed"`    // of every cell
	Command   string         `json:"command"` // that asked for it
}

// A Scene is what a plan has to know of a scenario.
type Scene struct {
	Name      string   `json:"name"` // or the path of a file
	SHA       string   `json:"sha256"`
	Flavor    string   `json:"flavor"`           // where none is asked for
	Protocols []string `json:"protocols"`        // that it can be run with
	Crashes   bool     `json:"crashes"`          // its faults stop nodes
	Arms      []string `json:"arms"`             // what its faults need armed
	Shares    bool     `json:"shares,omitempty"` // it has shared subscriptions
	Faults    bool     `json:"faults,omitempty"` // it has some

	// Default returns the SDK that clients have by default, and Lacks an error where an
	// SDK cannot do what the workload needs, or there is no such tier.
	Default func(protocol, flavor string) (clients.SDK, error) `json:"-"`
	Lacks   func(sdk clients.SDK, tier string) error           `json:"-"`
	// Fits returns an error where a cluster has not the nodes of the schedule, and Withheld
	// whether none of its faults can be had there.
	Fits     func(cluster.Config) error `json:"-"`
	Withheld func(cluster.Config) bool  `json:"-"`
}

// DefaultSDK stands for the SDK that a scenario has by default.
const DefaultSDK = "default"

// An Entry is one cell to run.
type Entry struct {
	Scenario  string   `json:"scenario"`
	SDK       string   `json:"sdk"` // lang/package@version
	Protocol  string   `json:"protocol"`
	Transport string   `json:"transport"`
	Flavor    string   `json:"flavor"`
	Arm       []string `json:"arm,omitempty"`
	NoFaults  bool     `json:"no_faults,omitempty"`   // the workload alone, maybe because there is nothing else
	Referee   string   `json:"referee,omitempty"`     // why it is run beside the matrix: tap, again, control
	Number    int      `json:"number,omitempty"`      // of the repetition
	Lacks     string   `json:"unsupported,omitempty"` // why it cannot be run
}

func (e Entry) String() string {
	text := fmt.Sprintf("%s %s %s %s %s", e.Scenario, e.Flavor, e.SDK, e.Protocol, e.Transport)
	if e.NoFaults {
		text += " without faults"
	}
	if e.Referee != "" {
		text += " " + e.Referee
	}
	if e.Number > 0 {
		text += fmt.Sprintf(" #%d", e.Number+1)
	}
	return text
}

// An Order is what somebody asks of a matrix. Empty lists are all there is.
type Order struct {
	Scenarios  []Scene
	SDKs       []string // as people write them: go, python@2.x, js/mqtt@latest, default
	Flavors    []string
	Protocols  []string
	Transports []string // none: tcp
	Config     cluster.Config
	Tier       string
	Seed       int64
	Repeat     int
	NoFaults   bool // cells are without faults
	Controls   bool // there are cells without faults as well, and they come first
}

// NewPlan plans a cell for each version of each library, and each protocol that
// it shares with a scenario. A combination that a broker or a driver does not
// support is a cell too, and the cell says so.
func NewPlan(o Order) (Plan, error) {
	p := Plan{Scenarios: o.Scenarios, Tier: cmp.Or(o.Tier, "smoke"), Config: o.Config, Repeat: max(o.Repeat, 1), Seed: o.Seed}
	sdks, err := selected(o.SDKs)
	if err != nil {
		return p, err
	}
	transports := o.Transports
	if len(transports) == 0 {
		transports = []string{"tcp"}
	}
	for _, t := range transports {
		if known := []string{"tcp", "tls", "ws", "wss"}; !slices.Contains(known, t) {
			return p, fmt.Errorf("no transport %q; there are %s", t, strings.Join(known, ", "))
		}
	}
	for _, noFaults := range o.phases() {
		for _, scene := range o.Scenarios {
			if o.Controls && !noFaults && !scene.Faults { // it was in the first phase
				continue
			}
			p.Entries = append(p.Entries, o.cells(scene, sdks, transports, noFaults || !scene.Faults)...)
		}
	}
	if len(p.Entries) == 0 {
		return p, errors.New("no cell to run: no SDK that was named speaks a protocol of the scenario; `rmq-mcp list sdks` shows what they speak")
	}
	p.Scenarios = slices.DeleteFunc(slices.Clone(o.Scenarios), func(s Scene) bool {
		return !slices.ContainsFunc(p.Entries, func(e Entry) bool { return e.Scenario == s.Name })
	})
	return p, nil
}

// phases returns, for each phase of the matrix, whether its cells are without faults.
func (o Order) phases() []bool {
	switch {
	case o.Controls:
		return []bool{true, false}
	case o.NoFaults:
		return []bool{true}
	}
	return []bool{false}
}

// cells returns those of one scenario, on each flavor.
func (o Order) cells(scene Scene, sdks []clients.SDK, transports []string, noFaults bool) (list []Entry) {
	flavors := o.Flavors
	if len(flavors) == 0 {
		flavors = []string{cmp.Or(scene.Flavor, cluster.DefaultFlavor)}
	}
	for _, flavor := range flavors {
		like := Entry{Scenario: scene.Name, Flavor: flavor, NoFaults: noFaults}
		nodes := o.Config
		nodes.Flavor = flavor
		like.Arm = cluster.WithArms(nodes.Armable(scene.Arms), o.Config.Arm...)
		if !noFaults && scene.Withheld != nil && scene.Withheld(nodes) { // its workload alone, as a control
			if o.Controls {
				continue // it was in the first phase
			}
			like.NoFaults = true
		}
		for _, sdk := range sdks {
			list = append(list, o.cellsOf(scene, like, sdk, o.asked(scene), transports)...)
		}
		if !slices.Contains(o.SDKs, DefaultSDK) {
			continue
		}
		for _, protocol := range o.asked(scene) {
			sdk, err := scene.Default(protocol, like.Flavor)
			if err != nil {
				e := like
				e.SDK, e.Protocol, e.Transport, e.Lacks = DefaultSDK, protocol, transports[0], err.Error()
				list = append(list, e)
			} else if !slices.ContainsFunc(sdks, func(s clients.SDK) bool { return s.String() == sdk.String() }) {
				list = append(list, o.cellsOf(scene, like, sdk, []string{protocol}, transports)...)
			}
		}
	}
	return list
}

// asked returns those of a scenario's protocols that the order names, or all of them.
func (o Order) asked(scene Scene) []string {
	return slices.DeleteFunc(slices.Clone(scene.Protocols), func(protocol string) bool {
		return len(o.Protocols) > 0 && !slices.Contains(o.Protocols, protocol)
	})
}

// selected are the SDKs that somebody names, each once; all for none. The default one
// is for each scenario to say.
func selected(names []string) (sdks []clients.SDK, err error) {
	if len(names) == 0 {
		return clients.SDKs(), nil
	}
	for _, name := range names {
		if name == DefaultSDK {
			continue
		}
		found, err := clients.ResolveAll(name)
		if err != nil {
			return nil, err
		}
		for _, s := range found {
			if !slices.ContainsFunc(sdks, func(t clients.SDK) bool { return t.String() == s.String() }) {
				sdks = append(sdks, s)
			}
		}
	}
	return sdks, nil
}

// cellsOf returns the cells of a scenario with an SDK. Like has what they share.
func (o Order) cellsOf(scene Scene, like Entry, sdk clients.SDK, protocols, transports []string) (list []Entry) {
	for _, protocol := range protocols {
		if !sdk.Speaks(protocol) {
			continue
		}
		for _, transport := range transports {
			e := like
			e.SDK, e.Protocol, e.Transport = sdk.String(), protocol, transport
			if err := o.lacks(scene, e, sdk); err != nil && e.Lacks == "" {
				e.Lacks = err.Error()
			}
			n := max(o.Repeat, 1)
			if e.Lacks != "" {
				n = 1
			}
			for e.Number = range n {
				list = append(list, e)
			}
		}
	}
	return list
}

// lacks is why a cell cannot be run with an SDK, nil where it can.
func (o Order) lacks(scene Scene, e Entry, sdk clients.SDK) error {
	if err := cluster.Speaks(e.Flavor, e.Protocol); err != nil {
		return err
	}
	if err := cluster.Shares(e.Flavor); scene.Shares && err != nil {
		return err
	}
	if e.Transport != "tcp" && !slices.Contains(sdk.Transports, e.Transport) {
		return fmt.Errorf("the driver of %s cannot %s", sdk, e.Transport)
	}
	if !e.NoFaults && scene.Fits != nil {
		config := o.Config
		config.Flavor, config.Nodes = e.Flavor, o.nodes(e.Flavor)
		if err := scene.Fits(config); err != nil {
			return err
		}
	}
	if scene.Lacks == nil {
		return nil
	}
	return scene.Lacks(sdk, o.Tier)
}

// nodes is how many nodes a flavor's cluster has; 0 where the scenario says.
func (o Order) nodes(flavor string) int {
	if cluster.FlavorNamed(flavor).OwnSize {
		return max(len(o.Config.Endpoints), 1)
	}
	return o.Config.Nodes
}

// key is the same for the same plan, whatever its seed: what is asked again
// goes on where it stopped.
func (p Plan) key() string {
	p.Seed, p.Command = 0, ""
	text, err := json.Marshal(p)
	if err != nil {
		panic(err) // of strings and numbers
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:6])
}
