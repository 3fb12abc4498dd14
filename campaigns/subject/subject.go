// Package subject has the command line flags of the system under test.
package subject

import (
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/cluster"
)

// DefaultFlavor is the flavor of a command that has no scenario to say one.
const DefaultFlavor = cluster.DefaultFlavor

// Flavors are the names of all flavors, for a usage text.
func Flavors() string { return strings.Join(cluster.FlavorNames(cluster.Any), ", ") }

// OwnFlavors are the names of the flavors that rmq-mcp starts, for a usage text.
func OwnFlavors() string { return strings.Join(cluster.FlavorNames(cluster.Own), ", ") }

// Runtimes are the names of all runtimes, for a usage text.
func Runtimes() string {
	return strings.Join(cluster.RuntimeNames(), ", ") + " (default " + cluster.RuntimeProcess + ")"
}

// Flags adds all flags but the flavor.
func Flags(f *pflag.FlagSet, c *cluster.Config) {
	f.StringVar(&c.Runtime, "runtime", "", "what the nodes run in: "+Runtimes())
	f.StringVar(&c.Image, "image", "", "docker, kubernetes: what the nodes are made of (default: this program, or the vendor's image of --broker-version)")
	Build(f, c)
	Foreign(f, c)
	f.IntSliceVar(&c.PIDs, "pid", nil, "of each --endpoint: the `number` of its process on this machine, for faults of nodes")
	f.StringSliceVar(&c.Containers, "container", nil, "of each --endpoint: the `name` of its container on this machine, for faults of nodes")
	f.StringSliceVar(&c.Pods, "pod", nil, "of each --endpoint: its pod, `namespace/name`, in the cluster of kubectl, for restarts of nodes")
	foreign(f, "pid", "container", "pod")
	f.StringSliceVar(&c.Arm, "arm", nil, "disk, clock, tap: put in place before the nodes start, beside what the scenario's faults need; chaos-mesh: faults of the network by Chaos Mesh, on Kubernetes")
	f.StringVar(&c.DiskModel, "disk-model", "", "what an armed disk takes for durable: ext4 (default), xfs, strict")
	f.IntVar(&c.Nodes, "nodes", 0, "how many nodes, 1 to 5 (default: the scenario's)")
	f.StringVar(&c.Plant, "plant", "", "plant a `defect` before the nodes, or in the embedded broker, to test a client library or the judge; an unknown name lists them all")
}

// Build adds the flags of a broker's build, and of its configuration.
func Build(f *pflag.FlagSet, c *cluster.Config) {
	f.StringVar(&c.Version, "broker-version", "", "of the broker, such as v0.4.11, to be downloaded or installed")
	f.StringVar(&c.VersionSHA256, "broker-sha256", "", "of the archive of --broker-version (default: what is published with it)")
	f.Var(document{c}, "broker", "`file` that describes the broker, in place of --flavor (docs/your-broker.md)")
	f.StringVar(&c.Binary, "binary", "", "`path` of the broker (default: that in RMQ_ROBUSTMQ_BIN or the variable of its flavor, or in PATH)")
	Settings(f, c)
}

// document is a flag with the file that describes the broker of a configuration.
type document struct{ of *cluster.Config }

func (d document) String() string { return "" }
func (d document) Type() string   { return "file" }

func (d document) Set(path string) (err error) {
	if before := d.of.Document; before != nil {
		return fmt.Errorf("--broker was given already, of %s", before.Name)
	}
	d.of.Broker = path
	*d.of, err = d.of.Load()
	return err
}

// Settings adds the flags of a broker's configuration.
func Settings(f *pflag.FlagSet, c *cluster.Config) {
	f.StringVar(&c.Profile, "profile", "", "tested, or as-shipped: the vendor's own defaults")
	f.Var(settings{&c.Settings}, "set", "`key=value` of the broker's own configuration, on top of the profile; repeat it for more")
}

// Foreign adds the flags of a broker that is already running.
func Foreign(f *pflag.FlagSet, c *cluster.Config) {
	Endpoints(f, c)
	f.StringVar(&c.CA, "ca", "", "`file` of the certificate that clients trust, for --endpoint with tls or wss")
	f.IntVar(&c.QueueLimit, "queue-limit", 0, "with --endpoint: the `number` of messages that the broker keeps for a session, by its settings (default: not known)")
	foreign(f, "ca", "queue-limit")
}

// Endpoints adds the flags of a broker's addresses, and of the user who logs in.
func Endpoints(f *pflag.FlagSet, c *cluster.Config) {
	f.StringArrayVar(&c.Endpoints, "endpoint", nil, "`host:port` of an external broker; repeat it for each of its nodes")
	f.StringVar(&c.Username, "username", "", "with --endpoint: who the clients log in as; the password is in "+attempt.PasswordEnv)
	foreign(f, "endpoint", "username")
}

// Group is the annotation of a flag that has a heading of its own in the help.
const Group = "rmq-mcp group"

// foreign puts flags under the heading of external brokers.
func foreign(f *pflag.FlagSet, names ...string) {
	for _, name := range names {
		if err := f.SetAnnotation(name, Group, []string{"Flags for a broker that is already running"}); err != nil {
			panic(err) // a flag that was not defined
		}
	}
}
