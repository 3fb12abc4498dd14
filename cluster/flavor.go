package cluster

import (
	"context"
	"fmt"
	"regexp"
	"time"
)

// versionForm is what a version may look like: it becomes part of addresses
// and paths.
var versionForm = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+[0-9A-Za-z.-]*$`)

// Profiles of a configuration.
const (
	ProfileTested    = "tested"     // what a careful operator would set
	ProfileAsShipped = "as-shipped" // the vendor's defaults, but for ports and paths
)

// A flavor knows one kind of broker.
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

// flavors are the brokers that can be started, by name.
func flavors() map[string]flavor {
	return map[string]flavor{
		"reference": reference{},
		"mosquitto": mosquitto{},
		"robustmq":  robustmq{},
		"external":  external{},
	}
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
	lacks          map[string]string // of this flavor: [history.ClusterInfo.Lacks]
	sequential     bool              // one node is started after the other serves
	startBound     time.Duration     // of the whole cluster
	leaderBound    time.Duration     // how long the data may be without a leader
}

// named is a configuration's flavor, with the profile filled in and the settings
// as what they are.
func named(config Config) (flavor, Config, error) {
	if config.Flavor == "" {
		config.Flavor = "reference"
	}
	f, ok := flavors()[config.Flavor]
	if !ok {
		return nil, config, fmt.Errorf("no flavor %q; choose reference, robustmq, mosquitto or external", config.Flavor)
	}
	if config.Profile == "" {
		config.Profile = ProfileTested
	}
	if config.Profile != ProfileTested && config.Profile != ProfileAsShipped {
		return nil, config, fmt.Errorf("no profile %q; choose %s or %s", config.Profile, ProfileTested, ProfileAsShipped)
	}
	var err error
	config.Settings, err = f.settings().typed(config.Flavor, config.Settings)
	return f, config, err
}

func check(config Config) (flavor, Config, error) {
	f, config, err := named(config)
	if err != nil {
		return nil, config, err
	}
	if config.Flavor != "external" && len(config.Endpoints) > 0 {
		return nil, config, fmt.Errorf("endpoints are for the flavor external, not %s; leave them out or set flavor external", config.Flavor)
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

// checkNodes fills in the number of nodes.
func checkNodes(config *Config, want, most int) error {
	if config.Nodes == 0 {
		config.Nodes = want
	}
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
