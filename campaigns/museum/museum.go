// Package museum shows defects that other people reported, each in an affected version and, if
// there is one, in the fixed version. The self-test plants its own defects, and its authors thought
// of them.
package museum

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/robustmq/rmq-mcp/campaigns/exam"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/internal/build"
	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/yamlfile"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

//go:embed exhibits scenarios
var files embed.FS

// An Exhibit is one reported defect, and a way to show it: a scenario whose claim fails and blames
// the party, or a check of conformance.
type Exhibit struct {
	Name     string        `yaml:"-"`        // of its file
	Report   string        `yaml:"report"`   // the address of the report, or of the code
	What     string        `yaml:"what"`     // is wrong: "sends a PUBLISH again without DUP"
	Party    verdict.Party `yaml:"party"`    // that has the defect: broker, sdk
	Affected string        `yaml:"affected"` // a version that has it
	Fixed    string        `yaml:"fixed"`    // the first version without it; "" if there is none
	Flavor   string        `yaml:"flavor"`   // of the broker
	SDK      string        `yaml:"sdk"`      // the client library: if it has the defect, without its version
	Protocol string        `yaml:"protocol"` // the scenario's if ""

	Scenario string         `yaml:"scenario"` // of the library, or a file of the museum: scenarios/NAME.md
	Claims   []string       `yaml:"claims"`   // one of them fails
	Check    string         `yaml:"check"`    // of conformance, in place of a scenario
	Ends     bool           `yaml:"ends"`     // the broker ends during the check
	Nodes    int            `yaml:"nodes"`
	Arm      []string       `yaml:"arm"`
	Settings map[string]any `yaml:"settings"`
	Missed   string         `yaml:"missed"` // why it cannot be named yet; "" if it can

	hash string
}

// All are the exhibits, in the order of their names.
func All() []Exhibit { return slices.Clone(exhibits()) }

var exhibits = sync.OnceValue(func() (all []Exhibit) {
	entries, err := files.ReadDir("exhibits")
	for _, entry := range entries {
		e := Exhibit{Name: strings.TrimSuffix(entry.Name(), ".yaml")}
		if err = e.read(); err != nil {
			break
		}
		all = append(all, e)
	}
	if err != nil {
		panic(err) // a test reads all of them
	}
	return all
})

// read reads the exhibit of a name. Its hash is that of its file and of its own scenario.
func (e *Exhibit) read() error {
	name := path.Join("exhibits", e.Name+".yaml")
	text, err := files.ReadFile(name)
	if err != nil {
		return err
	}
	if err := yamlfile.Decode(text, e); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if e.own() {
		scenario, err := files.ReadFile(e.Scenario)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		text = append(text, scenario...)
	}
	sum := sha256.Sum256(text)
	e.hash = hex.EncodeToString(sum[:])
	return nil
}

// Find returns the exhibits of some names, or of the one name all.
func Find(names []string) (chosen []Exhibit, err error) {
	all := All()
	if len(names) == 1 && names[0] == "all" {
		return all, nil
	}
	var known []string
	for _, e := range all {
		known = append(known, e.Name)
	}
	for _, name := range names {
		i := slices.Index(known, name)
		if i < 0 {
			return nil, fmt.Errorf("museum: no exhibit %q%s; `rmq-mcp museum list` has all", name, near.Hint(name, known, ""))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// Product names the broker or the client library with the defect.
func (e Exhibit) Product() string {
	if e.Party == verdict.SDK {
		return e.SDK
	}
	return e.Flavor
}

// versions are those that are tried, the affected one first.
func (e Exhibit) versions() []string {
	if e.Fixed == "" {
		return []string{e.Affected}
	}
	return []string{e.Affected, e.Fixed}
}

// config is the cluster for one version of the exhibit.
func (e Exhibit) config(version string) cluster.Config {
	c := cluster.Config{Flavor: e.Flavor, Nodes: e.Nodes, Settings: e.Settings, Arm: e.Arm}
	if e.Party == verdict.Broker && cluster.FlavorNamed(e.Flavor).Versions {
		c.Version = version
	}
	if e.Protocol != contract.MQ9 && e.Check == "" {
		c.Arm = cluster.WithArms(c.Arm, cluster.ArmTap) // the packets say whose defect it is
	}
	return c
}

// start is a run with one version of the exhibit. Dir has the museum's own scenarios.
func (e Exhibit) start(dir, version string) keeper.Start {
	s := keeper.Start{
		Scenario: e.Scenario, Cluster: e.config(version), SDK: e.SDK, Protocol: e.Protocol,
		Caller: keeper.Caller{Via: "cli", Client: "rmq-mcp " + build.Version(), Tool: "museum", Args: map[string]any{"exhibit": e.Name, "version": version}},
	}
	if e.own() {
		s.Scenario = filepath.Join(dir, filepath.FromSlash(e.Scenario))
	}
	if e.Party == verdict.SDK {
		s.SDK += "@" + version
	}
	return s
}

// own reports whether the scenario is a file of the museum.
func (e Exhibit) own() bool { return path.Ext(e.Scenario) == ".md" }

// load reads the scenario.
func (e Exhibit) load() (*scenarios.Scenario, error) {
	if !e.own() {
		return scenarios.Load(e.Scenario)
	}
	text, err := files.ReadFile(e.Scenario)
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(e.Scenario, text)
}

// check returns an error for an exhibit that could not be tried as it stands.
func (e Exhibit) check() error {
	switch {
	case !strings.HasPrefix(e.Report, "https://"):
		return errors.New("report is no address")
	case e.What == "" || strings.HasSuffix(e.What, "."):
		return errors.New("what is empty or ends with a full stop")
	case e.Party != verdict.Broker && e.Party != verdict.SDK:
		return fmt.Errorf("party is %q, expected broker or sdk", e.Party)
	case e.Affected == "" || e.Product() == "":
		return errors.New("affected names a version of a flavor, or of a library in sdk")
	case e.Missed != "" && e.Scenario == "" && e.Check == "":
		return nil
	case (e.Scenario == "") == (e.Check == ""):
		return errors.New("either a scenario or a check shows it")
	}
	if e.Check != "" {
		return e.checkStatement()
	}
	return e.checkScenario()
}

func (e Exhibit) checkStatement() error {
	if e.Protocol == "" {
		return errors.New("a check needs its protocol")
	}
	return e.exam(e.Affected).Check()
}

// exam is the check with one version of the exhibit.
func (e Exhibit) exam(version string) exam.Options {
	return exam.Options{Cluster: e.config(version), Only: []string{e.Check}, Protocol: e.Protocol, Seed: 1, Wait: exam.Wait, Say: func(string) {}}
}

func (e Exhibit) checkScenario() error {
	s, err := e.load()
	if err != nil {
		return err
	}
	if len(e.Claims) == 0 {
		return errors.New("claims is empty")
	}
	for _, claim := range e.Claims {
		found, err := checker.Find(claim)
		if err != nil {
			return err
		}
		if of := found.Claim.Of; of != "" && of != e.Party {
			return fmt.Errorf("claim %s is on the %s, and the party is %s", claim, of, e.Party)
		}
	}
	for _, version := range e.versions() {
		name := cmp.Or(e.SDK, s.SDK)
		if e.Party == verdict.SDK {
			name += "@" + version
		}
		sdk, err := clients.ResolveFor(name, cmp.Or(e.Protocol, s.Protocol))
		if err == nil {
			err = cmp.Or(s.RunsOn(cmp.Or(e.Flavor, s.Cluster.Flavor), cmp.Or(e.Protocol, s.Protocol)), s.Suits(sdk))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
