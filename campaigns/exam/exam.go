// Package exam holds a healthy broker against the statements of MQTT and of mq9, from its start to
// a report. Package conformance makes the checks.
package exam

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/conformance/mq9"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/history"
)

// Wait is how long a check waits for a packet by default.
const Wait = 10 * time.Second

// Options are the broker and the statements. Errors name the flags of rmq-mcp conformance.
type Options struct {
	Dir      string   // the state directory, for a broker that is downloaded
	Self     []string // the command line of rmq-mcp
	Cluster  cluster.Config
	Only     []string // groups or names of checks, or numbers of statements; none: all
	Protocol string   // of the contract; "": all that the flavor may speak
	Seed     uint64
	Parallel int // checks at once; 0: the default
	Steps    int // of each random walk; 0: the default
	Wait     time.Duration
	Say      func(line string)                         // gets progress
	Tell     func(done, all int, r conformance.Result) // of each check as it ends; may be nil
}

// Run starts the broker, or uses the one that is there, and makes the checks. If some were not made,
// the report comes with the error: they are undecided in it.
func Run(ctx context.Context, o Options) (report Report, err error) {
	statements, err := o.statements()
	if err != nil {
		return report, err
	}
	config, err := o.Cluster.Load()
	if err != nil {
		return report, err
	}
	known, err := knownOf(cmp.Or(config.Flavor, cluster.DefaultFlavor))
	if err != nil {
		return report, err
	}
	if len(config.Endpoints) > 0 {
		config.Flavor, config.Nodes = cmp.Or(config.Flavor, "external"), len(config.Endpoints)
		config = attempt.Login(config)
	}
	if config.Version != "" {
		if config, err = experiment.Fetch(ctx, o.Dir, config, o.Say); err != nil {
			return report, err
		}
		config.Version = "" // it is there now, as a program
	}
	brokers, err := cluster.NewLocal(o.Self)
	if err != nil {
		return report, err
	}
	defer brokers.Close()
	at, err := candidateOf(ctx, brokers, config, o.Protocol)
	if err != nil {
		return report, err
	}
	flavor := cmp.Or(config.Flavor, cluster.DefaultFlavor)
	report = Report{Broker: cmp.Or(at.version, strings.Join(config.Endpoints, ", ")), Flavor: flavor, Nodes: at.nodes, Seed: o.Seed}
	o.Say(fmt.Sprintf("%d checks of %s, %d nodes", len(statements), report.Broker, report.Nodes))
	results, err := hold(ctx, statements, at, conformance.Options{
		User: at.user, Password: at.password, Seed: o.Seed, Wait: o.Wait, Parallel: o.atOnce(at.nodes), Steps: o.Steps, Known: conformance.KnownIn(known, at.version), Tell: o.counting(len(statements)),
	})
	for _, r := range results {
		report.Results = append(report.Results, rowOf(r))
	}
	for _, n := range at.own {
		if why := down(ctx, n); why != "" {
			report.Down = append(report.Down, why)
		}
	}
	return report, err
}

// A node that lets no client in may take endBound to end.
const (
	endBound = 5 * time.Second
	endPoll  = 50 * time.Millisecond
)

// down says why a node does not serve, "" if it does. Its last connection ends before its process is gone.
// Nodes that the kernel or a stranger killed did not end by themselves.
func down(outer context.Context, n *cluster.Node) string {
	ctx, cancel := context.WithTimeout(outer, endBound)
	defer cancel()
	for ctx.Err() == nil {
		if state, err := n.State(ctx); err == nil && state == history.StateKilled {
			return ""
		}
		if end := n.Ended(ctx); end != "" {
			return end
		}
		if _, err := n.Probe(ctx); err == nil {
			return ""
		}
		time.Sleep(endPoll)
	}
	if outer.Err() != nil {
		return ""
	}
	return n.Name() + " runs, and lets no client in"
}

// counting counts the checks that ended.
func (o Options) counting(all int) func(conformance.Result) {
	if o.Tell == nil {
		return nil
	}
	done := 0
	return func(r conformance.Result) {
		done++
		o.Tell(min(done, all), all, r)
	}
}

// Check returns an error for options that cannot be.
func (o Options) Check() error {
	_, err := o.statements()
	return err
}

// Numbers are the numbered statements of MQTT, of one protocol if the options name it.
func (o Options) Numbers() ([]conformance.Number, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(conformance.Numbers(), func(n conformance.Number) bool {
		return o.Protocol != "" && n.Version != versions[o.Protocol]
	}), nil
}

// statements are those asked for.
func (o Options) statements() ([]conformance.Statement, error) {
	if o.Wait < 100*time.Millisecond || o.Parallel < 0 || o.Steps < 0 {
		return nil, fmt.Errorf("conformance: --wait is %v, --parallel %d and --steps %d; set --wait to 100ms or more, the others to 1 or more", o.Wait, o.Parallel, o.Steps)
	}
	version := versions[o.Protocol]
	if version == 0 && o.Protocol != "" {
		return nil, fmt.Errorf("conformance: --protocol is %q, expected %s, %s or %s", o.Protocol, contract.MQTT3, contract.MQTT5, contract.MQ9)
	}
	all := slices.DeleteFunc(slices.Concat(conformance.Statements(), mq9.Statements()), func(s conformance.Statement) bool {
		if version == 0 {
			return s.Version == conformance.MQ9 && (len(o.Cluster.Endpoints) > 0 || cluster.Speaks(o.Cluster.Flavor, contract.MQ9) != nil)
		}
		return s.Version != version
	})
	used := map[string]bool{}
	var chosen []conformance.Statement
	for _, s := range all {
		asked := len(o.Only) == 0
		for _, w := range o.Only {
			if w == s.Name || w == s.Group() || strings.EqualFold(w, s.Number) {
				asked, used[w] = true, true
			}
		}
		if asked {
			chosen = append(chosen, s)
		}
	}
	for _, w := range o.Only {
		if !used[w] {
			return nil, fmt.Errorf("conformance: --only: no group, check or statement %q; groups are %s", w, strings.Join(conformance.Groups(all), ", "))
		}
	}
	return chosen, nil
}

// atOnce returns how many checks run at the same time. Several nodes have to agree and take longer,
// so fewer checks run on them by default.
func (o Options) atOnce(nodes int) int {
	if o.Parallel == 0 && nodes > 1 {
		return 2
	}
	return o.Parallel
}

// A candidate is the broker that is examined.
type candidate struct {
	version        string
	nodes          int
	own            []*cluster.Node
	mqtt, nats     [2]string // addresses of the first node and of the last one
	user, password string
}

// candidateOf starts the broker, or takes the one whose endpoints are given. They are NATS ports if
// mq9 alone is asked about.
func candidateOf(ctx context.Context, brokers *cluster.Local, config cluster.Config, protocol string) (candidate, error) {
	if n := len(config.Endpoints); n > 0 && protocol == contract.MQ9 {
		return candidate{nodes: n, nats: [2]string{config.Endpoints[0], config.Endpoints[n-1]}, user: config.Username, password: config.Password.Reveal()}, nil
	}
	c, err := brokers.Start(ctx, config)
	if err != nil {
		return candidate{}, err
	}
	nodes := c.Nodes()
	first, last := nodes[0], nodes[len(nodes)-1]
	at := candidate{
		version: first.Version(), nodes: len(nodes), own: nodes,
		mqtt: [2]string{first.Endpoint(""), last.Endpoint("")}, nats: [2]string{first.NATS(), last.NATS()},
	}
	at.user, at.password = c.Credentials()
	return at, nil
}

// hold makes the checks, those of MQTT before those of mq9. If one part cannot be examined, or is
// stopped, the results of the other are kept, and its own checks are undecided. Without any results
// there is only the error.
func hold(ctx context.Context, statements []conformance.Statement, at candidate, o conformance.Options) ([]conformance.Result, error) {
	var all []conformance.Result
	var failed error
	made := false
	for _, part := range []struct {
		mq9 bool
		at  [2]string
		run func(context.Context, conformance.Options) ([]conformance.Result, error)
	}{{false, at.mqtt, conformance.Run}, {true, at.nats, mq9.Run}} {
		o.From, o.To = part.at[0], part.at[1]
		o.Statements = slices.DeleteFunc(slices.Clone(statements), func(s conformance.Statement) bool { return (s.Version == conformance.MQ9) != part.mq9 })
		if len(o.Statements) == 0 {
			continue
		}
		results, err := part.run(ctx, o)
		if err != nil && len(results) == 0 {
			results = conformance.NotChecked(o.Statements, err.Error())
		} else {
			made = true
		}
		all, failed = append(all, results...), cmp.Or(failed, ctx.Err(), err)
	}
	if !made {
		return nil, failed
	}
	return all, failed
}
