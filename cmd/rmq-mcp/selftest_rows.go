package main

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

// rareEvery is from where on a defect takes many messages to show.
const rareEvery = 100

// A SelftestRow is one run in which it is known who is to blame.
type SelftestRow struct {
	Who    string        `json:"who"` // client, broker, configuration, mq9
	Name   string        `json:"name"`
	What   string        `json:"what"`
	Every  int64         `json:"every,omitempty"`  // of a broker: once in so many packets
	Want   verdict.Party `json:"want,omitempty"`   // whom to blame; "" is nobody
	Claims []string      `json:"claims,omitempty"` // that are to fail, where the party to blame does not say it all
	State  verdict.State `json:"state"`
	Failed []string      `json:"failed,omitempty"` // claims
	Blame  string        `json:"blame,omitempty"`
	Shown  *int64        `json:"shown,omitempty"` // how often the defect showed, where it was planted before the nodes
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
	starved   bool // the host was, or did not keep up the load, so that nobody is blamed
}

// selftestRows are what there is to try, each defect at each rate: once in so
// many packets.
func selftestRows(rates []int64) (rows []SelftestRow) {
	for _, l := range liar.Lies() {
		row := SelftestRow{Who: "client", Name: l.Name, What: l.What, Want: verdict.SDK, scenario: selftestSteady}
		if l.Name == "honest" {
			row.Want = ""
			rows = append(rows, row)
			row.What += ", and every connection is lost"
		}
		if l.Name == "honest" || l.Name == "deaf" {
			row.scenario = selftestReconnect
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
	rows = append(rows, SelftestRow{Who: "broker", Name: "none", What: "nothing: it is as it should be, with shared subscriptions", scenario: selftestShared, flavor: "mosquitto"})
	rows = append(rows, SelftestRow{Who: "broker", Name: "none", What: "nothing: it is as it should be, beside a client that is dead", scenario: selftestStall})
	rows = append(rows, SelftestRow{Who: "broker", Name: "none", What: "nothing: it is as it should be, with wills", scenario: selftestWill})
	for _, p := range mq9.Plants() {
		row := SelftestRow{Who: contract.MQ9, Name: p.Name, What: p.What, Every: plant.Every, Claims: p.Claims, scenario: selftestMQ9}
		switch p.Claims[0] {
		case "mq9-mailbox-ttl":
			row.scenario = selftestMQ9Mailbox
		case "mq9-message-ttl", "mq9-priority": // of few messages, and answers
			row.Every = fewer(plant.Every)
		}
		rows = append(rows, row)
	}
	return append(rows, SelftestRow{Who: contract.MQ9, Name: "none", What: "nothing: it is as it should be", scenario: selftestMQ9},
		SelftestRow{Who: contract.MQ9, Name: "none", What: "the same, with mailboxes that end", scenario: selftestMQ9Mailbox})
}

// spread returns the rows to try with other clients or before another broker, where
// that is asked for: the defects of brokers, and what is as it should be. One that
// cannot be tried says so.
func (t selftesting) spread(rows []SelftestRow) (out []SelftestRow, err error) {
	if len(t.sdks)+len(t.protocols)+len(t.endpoints) == 0 {
		return rows, nil
	}
	for _, row := range rows {
		if row.Who != "broker" {
			continue
		}
		text, err := selftestScenarios.ReadFile(row.scenario)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", row.scenario, err)
		}
		s, err := scenarios.Parse(row.scenario, text)
		if err != nil {
			return nil, err
		}
		if len(t.endpoints) > 0 {
			row.flavor, row.endpoints = "external", t.endpoints
		}
		for _, name := range orOne(t.sdks, s.SDK) {
			if _, err := clients.ResolveAll(name); err != nil {
				return nil, err
			}
			for _, protocol := range orOne(t.protocols, s.Protocol) {
				if slices.Contains(s.Protocols(), protocol) {
					out = append(out, row.with(s, name, protocol))
				}
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("selftest: no defect can be shown with protocol %s; give mqtt3 or mqtt5", strings.Join(t.protocols, ", "))
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
func (row SelftestRow) with(s *scenarios.Scenario, name, protocol string) SelftestRow {
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

// weakRows are real brokers, configured to keep less than they acknowledge, whose
// node dies; and one that keeps it all.
func weakRows() []SelftestRow {
	weak := func(name, what, scenario, flavor string, settings map[string]any, arm ...string) SelftestRow {
		return SelftestRow{Who: "configuration", Name: name, What: what, Want: verdict.Broker, scenario: scenario, flavor: flavor, settings: settings, arm: arm}
	}
	keeps := weak("kept", "nats-server, whose node is killed", selftestKilled, "", nil)
	keeps.Want = ""
	return []SelftestRow{
		weak("not-kept", "mosquitto without persistence, whose node is killed", selftestKilled, "mosquitto", map[string]any{"persistence": false}),
		weak("kept-late", "mosquitto saving every half an hour, whose node is killed", selftestKilled, "mosquitto", map[string]any{"autosave_interval": 1800}),
		weak("synced-late", "nats-server syncing every two minutes, whose node loses its power", selftestPower, "", map[string]any{"sync_always": false}, cluster.ArmDisk),
		keeps,
	}
}

// lackedBy says what a host has not that the row takes, "" for nothing.
func (row *SelftestRow) lackedBy(host experiment.Preflight) string {
	for _, f := range host.Flavors {
		if f.Name == row.flavor && !f.OK {
			return f.Install
		}
	}
	for _, f := range host.Faults {
		if row.scenario == selftestPower && f.Type == "power_loss" {
			return f.Missing
		}
	}
	return ""
}

// fewer is the rate where there are few packets in which a defect could show.
func fewer(every int64) int64 { return max(1, every/5) }

// plantRow is a defect on the scenario in which it shows.
func plantRow(p tap.Plant, every int64) SelftestRow {
	row := SelftestRow{Who: "broker", Name: p.Name, What: p.What, Every: every, Want: verdict.Broker, scenario: selftestSteady, always: p.Always}
	switch {
	case p.Shows == tap.InResume:
		row.scenario = selftestReconnect
	case p.Shows == tap.InRelease:
		row.scenario = selftestRelease
	case p.Shows == tap.InEnds:
		row.scenario, row.flavor = selftestExpiry, "mosquitto" // the embedded broker speaks no MQTT 5
	case p.Shows == tap.InStalls:
		row.scenario, row.Want, row.Claims = selftestStall, "", []string{"fair"}
	case p.Shows == tap.InWaits:
		row.scenario, row.Claims = selftestWait, []string{"qos1-no-loss", "delivery-progress"}
	case p.Shows == tap.InWills:
		row.scenario = selftestWill
	case p.Shows == tap.InShares:
		row.scenario, row.flavor = selftestShared, "mosquitto" // the embedded broker has none
	case p.Shows == tap.InRetains && every >= rareEvery:
		row.scenario = selftestRegisterRare
	case p.Shows == tap.InRetains:
		row.scenario, row.Every = selftestRegister, fewer(every)
	case every >= rareEvery:
		row.scenario = selftestRare
	}
	return row
}

// name is the row's, with its rate.
func (row *SelftestRow) name() string {
	if row.Every == 0 {
		return row.Name
	}
	return fmt.Sprintf("%s/%d", row.Name, row.Every)
}

// client is the library that a row was asked with, behind a space; "" where none was.
func (row *SelftestRow) client() string {
	if row.SDK == "" {
		return ""
	}
	return " " + row.SDK + " " + row.Protocol
}
