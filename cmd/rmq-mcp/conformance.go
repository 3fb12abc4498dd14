package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/conformance/mq9"
	"github.com/robustmq/rmq-mcp/experiment"
)

// conformanceWait is how long a check waits for a packet by default.
const conformanceWait = 10 * time.Second

// conforming are the flags of conformance.
type conforming struct {
	cluster          cluster.Config
	set              map[string]string
	only             []string
	protocol         string
	seed             uint64
	parallel         int
	wait             time.Duration
	asJSON, markdown bool
}

func (a *app) conformance() *cobra.Command {
	var f conforming
	cmd := &cobra.Command{
		Use:   "conformance",
		Short: "Check a healthy broker against the statements of MQTT 3.1.1, MQTT 5 and mq9",
		Long: "Starts a broker on this machine's loopback, or uses the ones named by --endpoint and no other, and makes one small\n" +
			"check for each normative statement of the standards, and of the vendor's pages of mq9, that a client can observe.\n" +
			"With several nodes what is published is published to the first one, and subscribers are at the last one. A violation\n" +
			"comes with the packets of its check. --endpoint is an MQTT port, and with --protocol mq9 a NATS port.\n" +
			"Exit status: 1 if a MUST is violated and the broker is not known for\n" +
			"it, 2 if something could not be decided, 3 if there is no broker. Ctrl-C stops in order: the checks that were\n" +
			"made are printed, and the others are undecided.",
		Example: "  rmq-mcp conformance --flavor mosquitto\n  rmq-mcp conformance --flavor robustmq --nodes 3 --only retained,will\n" +
			"  rmq-mcp conformance --endpoint 127.0.0.1:1883 --protocol mqtt5\n  rmq-mcp conformance --flavor robustmq --protocol mq9",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := interrupted(cmd.Context())
			defer stop()
			return a.conform(ctx, cmd.OutOrStdout(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.cluster.Flavor, "flavor", "", "what the nodes are: "+strings.Join(cluster.FlavorNames(cluster.Own), ", ")+" (default "+cluster.DefaultFlavor+")")
	flags.IntVar(&f.cluster.Nodes, "nodes", 1, "how many nodes, 1 to 5")
	flags.StringVar(&f.cluster.Binary, "binary", "", "`path` of the broker (default: RMQ_ROBUSTMQ_BIN, or mosquitto in PATH)")
	flags.StringVar(&f.cluster.Version, "broker-version", "", "of RobustMQ, such as v0.4.11, to be downloaded")
	flags.StringVar(&f.cluster.VersionSHA256, "broker-sha256", "", "of the archive of --broker-version (default: what is published with it)")
	flags.StringVar(&f.cluster.Profile, "profile", "", "tested, or as-shipped: the vendor's own defaults")
	flags.StringToStringVar(&f.set, "set", nil, "`key=value` of the broker's own configuration; repeat it for more")
	flags.StringArrayVar(&f.cluster.Endpoints, "endpoint", nil, "`host:port` of an external broker; repeat it for each node")
	flags.StringVar(&f.cluster.Username, "username", "", "with --endpoint: who the clients log in as; the password is in "+attempt.PasswordEnv)
	flags.StringSliceVar(&f.only, "only", nil, "groups or `names` of checks, or numbers of statements, separated by commas")
	flags.StringVar(&f.protocol, "protocol", "", "mqtt3, mqtt5 or mq9 (default: all that the flavor may speak, and of --endpoint MQTT)")
	flags.Uint64Var(&f.seed, "seed", 1, "of generated topics and filters")
	flags.IntVar(&f.parallel, "parallel", 0, "checks at once (default: 8, across nodes 2)")
	flags.DurationVar(&f.wait, "wait", conformanceWait, "how long a packet is waited for")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.markdown, "markdown", false, "print Markdown")
	return cmd
}

// statements are those asked for.
func (f conforming) statements() ([]conformance.Statement, error) {
	version := map[string]conformance.Version{contract.MQTT3: conformance.V311, contract.MQTT5: conformance.V5, contract.MQ9: conformance.MQ9}[f.protocol]
	if version == 0 && f.protocol != "" {
		return nil, fmt.Errorf("conformance: --protocol is %q, expected %s, %s or %s", f.protocol, contract.MQTT3, contract.MQTT5, contract.MQ9)
	}
	all := slices.DeleteFunc(slices.Concat(conformance.Statements(), mq9.Statements()), func(s conformance.Statement) bool {
		if version == 0 {
			return s.Version == conformance.MQ9 && (len(f.cluster.Endpoints) > 0 || cluster.Speaks(f.cluster.Flavor, contract.MQ9) != nil)
		}
		return s.Version != version
	})
	used := map[string]bool{}
	var chosen []conformance.Statement
	for _, s := range all {
		asked := len(f.only) == 0
		for _, w := range f.only {
			if w == s.Name || w == s.Group() || strings.EqualFold(w, s.Number) {
				asked, used[w] = true, true
			}
		}
		if asked {
			chosen = append(chosen, s)
		}
	}
	for _, w := range f.only {
		if !used[w] {
			return nil, fmt.Errorf("conformance: --only: no group, check or statement %q; groups are %s", w, strings.Join(conformance.Groups(all), ", "))
		}
	}
	return chosen, nil
}

// A Conformance is what the checks said of one broker.
type Conformance struct {
	Broker  string           `json:"broker"`
	Flavor  string           `json:"flavor"`
	Nodes   int              `json:"nodes"`
	Seed    uint64           `json:"seed"`
	Results []ConformanceRow `json:"results"`
}

// A ConformanceRow is one statement held against a broker.
type ConformanceRow struct {
	Name     string   `json:"name"`
	Protocol string   `json:"protocol"`         // MQTT 3.1.1, MQTT 5.0 or mq9
	Number   string   `json:"number,omitempty"` // of mq9 page#heading
	Section  string   `json:"section,omitempty"`
	Level    string   `json:"level"`
	Text     string   `json:"text"`
	Verdict  string   `json:"verdict"`
	Why      string   `json:"why,omitempty"`
	Known    string   `json:"known,omitempty"` // where it is said that the broker does this
	TookMS   int64    `json:"took_ms"`
	Packets  []string `json:"packets,omitempty"` // of what does not conform
}

// conform starts the broker, runs the checks and prints what they say.
func (a *app) conform(ctx context.Context, out io.Writer, f conforming) error {
	say := sayTo(out, f.asJSON || f.markdown)
	report, err := a.examine(ctx, say, f)
	if len(report.Results) == 0 {
		return err
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(say, "stopped")
		err = nil
	}
	return cmp.Or(err, f.print(out, say, report))
}

// examine starts the broker and runs the checks. The report of checks that were not all made
// comes with the error; those that were not are undecided in it.
func (a *app) examine(ctx context.Context, say io.Writer, f conforming) (report Conformance, err error) {
	if f.wait < 100*time.Millisecond || f.parallel < 0 {
		return report, fmt.Errorf("conformance: --wait is %v and --parallel %d; set --wait to 100ms or more, --parallel to 1 or more", f.wait, f.parallel)
	}
	statements, err := f.statements()
	if err != nil {
		return report, err
	}
	config := f.cluster
	config.Settings = settings(f.set)
	if len(config.Endpoints) > 0 {
		config.Flavor, config.Nodes = cmp.Or(config.Flavor, "external"), len(config.Endpoints)
		config = attempt.Login(config)
	}
	if config.Version != "" {
		dir, err := a.state()
		if err == nil {
			config, err = experiment.Fetch(ctx, dir, config, func(line string) { fmt.Fprintln(say, line) })
		}
		if err != nil {
			return report, err
		}
		config.Version = "" // it is there now, as a program
	}
	argv, err := self()
	if err != nil {
		return report, err
	}
	b := &trialBrokers{}
	if b.dir, err = os.MkdirTemp("", "rmq-mcp-conformance-*"); err != nil {
		return report, fmt.Errorf("make a directory for the broker: %w", err)
	}
	defer b.close()
	at, err := examineeOf(ctx, b, argv, config, f.protocol)
	if err != nil {
		return report, err
	}
	flavor := cmp.Or(config.Flavor, cluster.DefaultFlavor)
	report = Conformance{Broker: cmp.Or(at.version, strings.Join(config.Endpoints, ", ")), Flavor: flavor, Nodes: at.nodes, Seed: f.seed}
	fmt.Fprintf(say, "%d checks of %s, %d nodes\n", len(statements), report.Broker, report.Nodes)
	p := newTicker(say, len(statements))
	results, err := hold(ctx, statements, at, conformance.Options{
		User: at.user, Password: at.password, Seed: f.seed, Wait: f.wait, Parallel: f.atOnce(at.nodes), Known: conformance.KnownOf(flavor, at.version), Tell: p.tell,
	})
	p.end()
	for _, r := range results {
		report.Results = append(report.Results, rowOf(r))
	}
	return report, err
}

// An examinee is the broker that is examined.
type examinee struct {
	version        string
	nodes          int
	mqtt, nats     [2]string // addresses of the first node and of the last one
	user, password string
}

// examineeOf starts the broker, or takes the one whose endpoints are given: those are
// NATS ports where mq9 alone is asked about.
func examineeOf(ctx context.Context, b *trialBrokers, argv []string, config cluster.Config, protocol string) (examinee, error) {
	if n := len(config.Endpoints); n > 0 && protocol == contract.MQ9 {
		return examinee{nodes: n, nats: [2]string{config.Endpoints[0], config.Endpoints[n-1]}, user: config.Username, password: config.Password.Reveal()}, nil
	}
	c, err := b.start(ctx, argv, config)
	if err != nil {
		return examinee{}, err
	}
	nodes := c.Nodes()
	first, last := nodes[0], nodes[len(nodes)-1]
	at := examinee{
		version: first.Version(), nodes: len(nodes),
		mqtt: [2]string{first.Endpoint(""), last.Endpoint("")}, nats: [2]string{first.NATS(), last.NATS()},
	}
	at.user, at.password = c.Credentials()
	return at, nil
}

// hold makes the checks, those of MQTT before those of mq9. Where one part cannot be examined, or
// is stopped, the results of the other are kept, and the checks that were not made are undecided.
// Without any results there is only the error.
func hold(ctx context.Context, statements []conformance.Statement, at examinee, o conformance.Options) ([]conformance.Result, error) {
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

// atOnce returns how many checks run at the same time. Several nodes have to
// agree and take longer, so fewer checks run on them by default.
func (f conforming) atOnce(nodes int) int {
	if f.parallel == 0 && nodes > 1 {
		return 2
	}
	return f.parallel
}

func (f conforming) print(out, say io.Writer, report Conformance) error {
	switch {
	case f.asJSON:
		if err := writeJSON(out, report); err != nil {
			return err
		}
	case f.markdown:
		writeConformance(out, report)
	}
	if !f.asJSON && !f.markdown {
		printConformance(paintTo(say), say, report)
	}
	count := func(match func(ConformanceRow) bool) bool { return slices.ContainsFunc(report.Results, match) }
	switch {
	case count(func(r ConformanceRow) bool {
		return r.Verdict == string(conformance.Violates) && r.Level == "MUST" && r.Known == ""
	}):
		return exit(1)
	case count(func(r ConformanceRow) bool { return r.Verdict == string(conformance.Undecided) }):
		return exit(exitUndecided)
	}
	return nil
}

func rowOf(r conformance.Result) ConformanceRow {
	row := ConformanceRow{
		Name: r.Name, Protocol: r.Version.Protocol(), Number: r.Number, Section: r.Section, Level: r.Level, Text: r.Text,
		Verdict: string(r.Verdict), Why: r.Why, TookMS: r.Took.Milliseconds(),
	}
	if r.Known != nil {
		row.Known = r.Known.What + ": " + r.Known.Cite
	}
	if r.Verdict != conformance.Conforms {
		row.Packets = r.Packets
	}
	return row
}
