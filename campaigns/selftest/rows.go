package selftest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/clients/drivers/go/liar"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/internal/broker/mq9"
	"github.com/robustmq/rmq-mcp/internal/mechanism/tap"
	"github.com/robustmq/rmq-mcp/internal/plant"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// rareEvery is the least rate of defects that take many messages to show.
const rareEvery = 100

// A Row is one run with a known culprit.
type Row struct {
	Who    string        `json:"who"` // client, broker, configuration, mq9
	Name   string        `json:"name"`
	What   string        `json:"what"`
	Every  int64         `json:"every,omitempty"`  // of a broker: once in so many packets
	Want   verdict.Party `json:"want,omitempty"`   // the party to blame; "" is none
	Claims []string      `json:"claims,omitempty"` // that are to fail, if the party to blame does not say it all
	State  verdict.State `json:"state"`
	Failed []string      `json:"failed,omitempty"` // claims
	Blame  string        `json:"blame,omitempty"`
	Shown  *int64        `json:"shown,omitempty"` // how often a defect planted before the nodes showed
	Right  bool          `json:"right"`
	Wrong  string        `json:"wrong,omitempty"` // why not
	Lacks  string        `json:"lacks,omitempty"` // what it takes to try it, and this host has not
	Dir    string        `json:"dir"`             // of the run

	Violations map[string]int64 `json:"violations,omitempty"` // of each claim that fails

	SDK      string `json:"sdk,omitempty"` // in place of the scenario's
	Protocol string `json:"protocol,omitempty"`

	scenario string
	flavor   string         // "" is the scenario's
	settings map[string]any // of the broker
	arm      []string       // beside the tap

	endpoints []string
	always    bool // it shows whenever it can
	starved   bool // the host was, or did not keep up the load: the run tells nothing
}

// allRows are what there is to try, each defect at each rate: once in so
// many packets.
func allRows(rates []int64) (rows []Row) {
	for _, l := range liar.Lies() {
		row := Row{Who: "client", Name: l.Name, What: l.What, Want: verdict.SDK, scenario: steady}
		if l.Name == "honest" {
			row.Want = ""
			rows = append(rows, row)
			row.What += ", and every connection is lost"
		}
		if l.Name == "honest" || l.Name == "deaf" || l.Name == "mute" {
			row.scenario = reconnect
		}
		rows = append(rows, row)
	}
	for _, p := range tap.Plants() {
		if p.Always {
			rows = append(rows, plantRow(p, plant.Every))
			continue
		}
		for _, every := range rates {
			rows = append(rows, plantRow(p, every))
		}
	}
	rows = append(rows, weakRows()...)
	rows = append(rows, Row{Who: "broker", Name: "none", What: "nothing: it is as it should be, with shared subscriptions", scenario: shared, flavor: "mosquitto"})
	rows = append(rows, Row{Who: "broker", Name: "none", What: "nothing: it is as it should be, beside a client that is dead", scenario: stall})
	rows = append(rows, Row{Who: "broker", Name: "none", What: "nothing: it is as it should be, with wills", scenario: will})
	for _, p := range mq9.Plants() {
		row := Row{Who: contract.MQ9, Name: p.Name, What: p.What, Every: plant.Every, Claims: p.Claims, scenario: mq9Steady}
		switch p.Claims[0] {
		case "mq9-mailbox-ttl":
			row.scenario = mq9Mailbox
		case "mq9-message-ttl", "mq9-priority": // of few messages, and answers
			row.Every = fewer(plant.Every)
		}
		rows = append(rows, row)
	}
	return append(rows, Row{Who: contract.MQ9, Name: "none", What: "nothing: it is as it should be", scenario: mq9Steady},
		Row{Who: contract.MQ9, Name: "none", What: "the same, with mailboxes that end", scenario: mq9Mailbox})
}

// spread returns the rows to try with other clients or before another broker, if the options ask for
// them: defects of brokers, and brokers without a defect. Rows that cannot be tried say so.
func (o Options) spread(rows []Row) (out []Row, err error) {
	if len(o.SDKs)+len(o.Protocols)+len(o.Endpoints) == 0 {
		return rows, nil
	}
	for _, row := range rows {
		if row.Who != "broker" {
			continue
		}
		text, err := documents.ReadFile(row.scenario)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", row.scenario, err)
		}
		s, err := scenarios.Parse(row.scenario, text)
		if err != nil {
			return nil, err
		}
		if len(o.Endpoints) > 0 {
			row.flavor, row.endpoints = "external", o.Endpoints
		}
		for _, name := range orOne(o.SDKs, s.SDK) {
			if _, err := clients.ResolveAll(name); err != nil {
				return nil, err
			}
			for _, protocol := range orOne(o.Protocols, s.Protocol) {
				if slices.Contains(s.Protocols(), protocol) {
					out = append(out, row.with(s, name, protocol))
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("selftest: no defect can be shown with protocol %s; give mqtt3 or mqtt5", strings.Join(o.Protocols, ", "))
	}
	return out, nil
}

func orOne(asked []string, otherwise string) []string {
	if len(asked) == 0 {
		return []string{otherwise}
	}
	return asked
}

// with returns the row with a client library in the place of the scenario's.
func (row Row) with(s *scenarios.Scenario, name, protocol string) Row {
	row.SDK, row.Protocol = name, protocol
	sdk, err := clients.ResolveFor(name, protocol)
	if err == nil {
		row.SDK = sdk.String()
		err = cmp.Or(s.RunsOn(cmp.Or(row.flavor, s.Cluster.Flavor), protocol), s.Suits(sdk))
	}
	if err == nil && row.Name == "resend-bare" && slices.Contains(sdk.Cannot, contract.CannotDup) {
		err = fmt.Errorf("%s does not tell its application of DUP", sdk)
	}
	if err != nil {
		row.Lacks = err.Error()
	}
	return row
}

// weakRows kill a node of real brokers: some are configured to keep less than they acknowledge, and one
// keeps it all.
func weakRows() []Row {
	weak := func(name, what, scenario, flavor string, settings map[string]any, arm ...string) Row {
		return Row{Who: "configuration", Name: name, What: what, Want: verdict.Broker, scenario: scenario, flavor: flavor, settings: settings, arm: arm}
	}
	keeps := weak("kept", "nats-server, whose node is killed", killed, "", nil)
	keeps.Want = ""
	return []Row{
		weak("not-kept", "mosquitto without persistence, whose node is killed", killed, "mosquitto", map[string]any{"persistence": false}),
		weak("kept-late", "mosquitto saving every half an hour, whose node is killed", killed, "mosquitto", map[string]any{"autosave_interval": 1800}),
		weak("synced-late", "nats-server syncing every two minutes, whose node loses its power", power, "", map[string]any{"sync_always": false}, cluster.ArmDisk),
		keeps,
	}
}

// lackedBy says what the host lacks for the row, "" for nothing.
func (row *Row) lackedBy(host experiment.Preflight) string {
	for _, f := range host.Flavors {
		if f.Name == row.flavor && !f.OK {
			return f.Install
		}
	}
	for _, f := range host.Faults {
		if row.scenario == power && f.Type == "power_loss" {
			return f.Missing
		}
	}
	return ""
}

// fewer is the rate of defects that can show in few packets.
func fewer(every int64) int64 { return max(1, every/5) }

// plantRow is a defect on the scenario in which it shows.
func plantRow(p tap.Plant, every int64) Row {
	row := Row{Who: "broker", Name: p.Name, What: p.What, Every: every, Want: verdict.Broker, scenario: steady, always: p.Always}
	switch {
	case p.Shows == tap.InResume:
		row.scenario = reconnect
	case p.Shows == tap.InConnack: // a second storm might find no connection
		row.scenario = reconnectOnce
	case p.Shows == tap.InRelease:
		row.scenario = release
	case p.Shows == tap.InEnds:
		row.scenario, row.flavor = expiry, "mosquitto" // the embedded broker speaks no MQTT 5
	case p.Shows == tap.InStalls:
		row.scenario, row.Want, row.Claims = stall, "", []string{"fair"}
	case p.Shows == tap.InWaits:
		row.scenario, row.Claims = wait, []string{"qos1-no-loss", "delivery-progress"}
	case p.Shows == tap.InWills:
		row.scenario = will
	case p.Shows == tap.InShares:
		row.scenario, row.flavor = shared, "mosquitto" // the embedded broker has none
	case p.Shows == tap.InRetains && every >= rareEvery:
		row.scenario = registerRare
	case p.Shows == tap.InRetains:
		row.scenario, row.Every = register, fewer(every)
	case every >= rareEvery:
		row.scenario = rare
	}
	return row
}

// name is the row's, with its rate.
func (row *Row) name() string {
	if row.Every == 0 {
		return row.Name
	}
	return fmt.Sprintf("%s/%d", row.Name, row.Every)
}

// client is the library of the row behind a space, "" for the scenario's.
func (row *Row) client() string {
	if row.SDK == "" {
		return ""
	}
	return " " + row.SDK + " " + row.Protocol
}
