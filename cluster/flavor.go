package cluster

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/internal/near"
)

// versionForm is what a version may look like: it becomes part of addresses
// and paths.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+[0-9A-Za-z.-]*$`)

// Profiles of a configuration.
const (
	ProfileTested    = "tested"     // what a careful operator would set
	ProfileAsShipped = "as-shipped" // the vendor's defaults, but for ports and paths
)

// A Flavor is all that is known of one kind of broker before any is started. Its own
// file says it, and nothing else compares a flavor's name.
type Flavor struct {
	Name      string
	Title     string   // its name in a sentence
	About     string   // one line for people
	Protocols []string // that its nodes speak: mqtt3, mqtt5, mq9

	NoSharing string            // why it has no shared subscriptions, and where they can be had; "" where it has them
	Reorders  bool              // it redelivers out of order, by its own documentation
	Forgets   bool              // acknowledged messages do not outlive a crash of its node
	Queue     func(Config) int  // messages of QoS 1 and 2 that a node keeps for a session, or is taken to keep; nil, 0: no limit
	SDKs      map[string]string // by protocol: the client library that can speak to it, where the one named by scenarios cannot
	Control   []string          // protocols in which it tells a broker's fault from ours: it is well known, and not the broker that this project tests
	Pace      Pace

	Foreign    bool              // somebody else runs its brokers, and nothing more is known of them
	Embedded   bool              // it is part of this program, and changes with it
	OwnSize    bool              // its number of nodes cannot be chosen
	Most       int               // nodes that a cluster can have; 0: as many as there may be
	SameAs     string            // the name of another flavor that is the same broker; "" for none
	Leaderless bool              // several nodes do not say which of them leads
	Versions   bool              // released versions can be downloaded or installed
	BinaryEnv  string            // variable of the environment that names its program; "" for none
	Program    string            // its program, as the host's packages install it; "" for none
	Unsaid     map[string]string // things of [history.ClusterInfo.Lacks] that are not known of it, and why
	Install    string            // how a person gets it
	Images     string            // where its vendor publishes images, a tag per version; "" for nowhere

	Document *Document // its description; nil if this program has code for it

	image  func(*Config) error // fills in what docker needs; nil: an image must be named
	broker flavor
}

// Pace is how fast a flavor feels faults and comes back from them, in seconds.
type Pace struct {
	FeltS     float64 // more than the default, until a fault is felt
	SettleS   float64 // until a node that was gone serves again
	SteadyS   float64 // of traffic that shows what is usual
	AfterS    float64 // of traffic after the last heal
	DrainS    float64 // at most, until all is delivered
	RecoveryS float64 // at most, until every node serves
}

// Flavors are the brokers that can be used: the program's own, and those of the documents
// read by this process.
func Flavors() []Flavor {
	all := builtin()
	own := len(all)
	described.Range(func(_, f any) bool { all = append(all, f.(Flavor)); return true })
	slices.SortFunc(all[own:], func(a, b Flavor) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// builtin are the flavors that come with the program: those with code, and those of documents.
func builtin() []Flavor { return slices.Concat(coded(), shipped()) }

func coded() []Flavor {
	return []Flavor{referenceFlavor(), robustmqFlavor(), mosquittoFlavor(), externalFlavor()}
}

// FlavorNamed returns the flavor of that name; "" is the default. The zero Flavor with
// that name and every protocol stands for one that does not exist.
func FlavorNamed(name string) Flavor {
	if name == "" {
		name = DefaultFlavor
	}
	for _, f := range Flavors() {
		if f.Name == name {
			return f
		}
	}
	return Flavor{Name: name, Title: name, Protocols: contract.Protocols()}
}

// Flag is the flag of a command that asks for the flavor, and its value.
func (f Flavor) Flag() (name, value string) {
	if f.Document != nil && f.Document.file != "" {
		return "broker", filepath.Base(f.Document.file)
	}
	return "flavor", f.Name
}

// Field is the field in the config of a tool that asks for the flavor.
func (f Flavor) Field() string {
	if f.Document != nil && f.Document.file != "" {
		return fmt.Sprintf("broker:%q", f.Document.file)
	}
	return fmt.Sprintf("flavor:%q", f.Name)
}

// flavor is that of a configuration, as its own document describes it if it has one.
func (c Config) flavor() Flavor {
	if c.Document != nil && c.Document.Name != "" {
		return c.Document.flavor()
	}
	return FlavorNamed(c.Flavor)
}

// ForeignBroker reports whether a broker is external. Its flavor is the first word.
func ForeignBroker(broker string) bool {
	flavor, _, _ := strings.Cut(broker, " ")
	return FlavorNamed(flavor).Foreign
}

// FlavorNames are the names of flavors that a condition holds for, in their order.
func FlavorNames(holds func(Flavor) bool) (names []string) {
	for _, f := range Flavors() {
		if holds(f) {
			names = append(names, f.Name)
		}
	}
	return names
}

// Any, Own and Versioned are conditions of [FlavorNames].
func Any(Flavor) bool         { return true }
func Own(f Flavor) bool       { return !f.Foreign }
func Versioned(f Flavor) bool { return f.Versions }

// Foreign reports whether somebody else runs the brokers of a configuration.
func (c Config) Foreign() bool {
	return FlavorNamed(c.Flavor).Foreign || c.Flavor == "" && len(c.Endpoints) > 0
}

// Untouchable reports whether nothing may be done to the nodes: somebody else runs
// them, and their processes, containers or pods are not named.
func (c Config) Untouchable() bool {
	kind, _ := c.Theirs()
	return c.Foreign() && kind == ""
}

// Armable are those of arms that can be armed: nothing but the tap before nodes of
// somebody else.
func (c Config) Armable(arms []string) []string {
	return slices.DeleteFunc(slices.Clone(arms), func(arm string) bool { return c.Foreign() && arm != ArmTap })
}

// A flavor starts one kind of broker.
type flavor interface {
	// check fills in what is not set and says what cannot be. It looks at
	// files and starts nothing.
	check(Config) (Config, error)
	// settings are the keys of the brokers' own configuration that may be set; nil
	// where it is somebody else's.
	settings() flavorSettings
	// effective is the configuration by the flavor's own keys that nodes get, nil
	// where they are somebody else's. It looks at no file.
	effective(Config) (map[string]any, error)
	// plan chooses addresses and ports and writes the nodes' configuration. It
	// starts nothing.
	plan(Options) (*plan, error)
	// ready is nil when n serves; first asks for more: that it is a member of
	// a cluster as large as it is going to be by now. It is one look.
	ready(ctx context.Context, p *plan, n *Node, first bool) error
	// leader names the node that leads the topic's data now. It is one look.
	leader(ctx context.Context, p *plan, topic string) (string, error)
}

// A plan is a cluster that is not running yet.
type plan struct {
	nodes          []*Node
	version        string
	binary         string // path; "" where nothing is started
	user, password string
	ca             string            // file of the certificate that clients trust; "" without TLS
	config         map[string]any    // effective, without secrets
	differs        map[string]string // from the vendor's defaults
	promises       []string          // of the vendor (history.PromiseProtocol)
	queue          int               // [history.ClusterInfo.Queue]
	inFlight       int               // [history.ClusterInfo.InFlight]
	session, wait  time.Duration     // [history.ClusterInfo.SessionS], [history.ClusterInfo.WaitS]
	sequential     bool              // one node is started after the other serves
	startBound     time.Duration     // of the whole cluster
	leaderBound    time.Duration     // how long the data may be without a leader
}

// named is a configuration's flavor, with the profile filled in and the settings
// as what they are.
func named(config Config) (flavor, Config, error) {
	config, err := config.Load()
	if err != nil {
		return nil, config, err
	}
	known := config.flavor()
	config.Flavor = known.Name
	f := known.broker
	if f == nil {
		return nil, config, fmt.Errorf("no flavor %q%s; choose %s", config.Flavor, near.Hint(config.Flavor, FlavorNames(Any), ""), strings.Join(FlavorNames(Any), ", "))
	}
	if config.Profile == "" {
		config.Profile = ProfileTested
	}
	if config.Profile != ProfileTested && config.Profile != ProfileAsShipped {
		return nil, config, fmt.Errorf("no profile %q; choose %s or %s", config.Profile, ProfileTested, ProfileAsShipped)
	}
	config.Settings, err = f.settings().typed(config.Flavor, config.Settings)
	return f, config, err
}

func check(config Config) (flavor, Config, error) {
	f, config, err := named(config)
	if err != nil {
		return nil, config, err
	}
	if !FlavorNamed(config.Flavor).Foreign && len(config.Endpoints) > 0 {
		return nil, config, fmt.Errorf("endpoints are for the flavor external, not %s; leave them out or set flavor external", config.Flavor)
	}
	if !config.Foreign() && config.QueueLimit != 0 || config.QueueLimit < 0 {
		return nil, config, fmt.Errorf("queue limit %d: it is the number of messages that an external broker keeps for a session, at least 1; leave it out for %s", config.QueueLimit, config.Flavor)
	}
	if err := checkLogin(config); err != nil {
		return nil, config, err
	}
	if err := checkTransports(&config); err != nil {
		return nil, config, err
	}
	if err := checkArms(config); err != nil {
		return nil, config, err
	}
	if err := checkRuntime(&config); err != nil {
		return nil, config, err
	}
	if err := checkForeign(config); err != nil {
		return nil, config, err
	}
	config, err = f.check(config)
	return f, config, err
}

// Sizes of clusters: by default, and at most.
const (
	usualNodes = 3
	mostNodes  = 5
)

// Size returns how many nodes a cluster has. Without a number of its own that is what its
// scenario says, 0 for nothing.
func (c Config) Size(scenario int) int {
	f := c.flavor()
	switch {
	case f.OwnSize:
		return max(len(c.Endpoints), 1)
	case c.Nodes > 0 || f.Most == 0:
		return cmp.Or(c.Nodes, scenario, usualNodes)
	}
	return min(cmp.Or(scenario, usualNodes), f.Most)
}

// checkNodes fills in the number of nodes.
func checkNodes(config *Config, most int) error {
	config.Nodes = cmp.Or(config.Nodes, usualNodes)
	if config.Nodes < 1 || config.Nodes > most {
		return fmt.Errorf("%s cannot have %d nodes; choose 1 to %d", config.Flavor, config.Nodes, most)
	}
	return nil
}

// nodeNames are node-1 to node-n.
func nodeNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("node-%d", i+1))
	}
	return names
}
