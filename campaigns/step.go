package campaigns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/reports"
)

// ControlFlavor returns the broker that tells a broker's fault from ours: the
// embedded one for MQTT 3.1.1 and mq9, mosquitto for MQTT 5 and for the
// embedded broker itself. Mosquitto has one node and keeps nothing across a
// crash, so it is no control for a fault that kills. ControlFlavor returns ""
// if there is no control.
func ControlFlavor(flavor, protocol string, crashes bool) string {
	same := cluster.FlavorNamed(flavor).SameAs
	for _, f := range cluster.Flavors() {
		if f.Name != flavor && f.Name != same && slices.Contains(f.Control, protocol) && !(crashes && f.Forgets) {
			return f.Name
		}
	}
	return ""
}

// An ask is a run that would decide something.
type ask struct {
	scenario, sdk, protocol, transport, flavor, tier, arm string
	endpoints                                             []string // of somebody else's broker, which say the flavor
	seed                                                  int64
	noFaults                                              bool
}

func (c *sdkRuns) ask(s *subject) ask {
	var endpoints []string
	if at := c.group.broker.At; at != "" {
		endpoints = strings.Split(at, ",")
	}
	return ask{
		endpoints: endpoints, scenario: c.group.scenario, sdk: s.sdk, protocol: c.protocol, transport: c.transport,
		flavor: c.group.broker.Flavor, tier: c.group.tier, noFaults: c.group.baseline(), seed: s.seed(),
	}
}

// seed is that of the first run that fails, or of the first.
func (s *subject) seed() int64 {
	for _, c := range s.attempts() {
		if len(c.failed()) > 0 {
			return c.Seed
		}
	}
	return s.cells[0].Seed
}

// step words an ask for people and for agents.
func (a ask) step(why string) reports.Step {
	command, config, flavor := "rmq-mcp run "+a.scenario, cluster.FlavorNamed(a.flavor).Field(), a.flavor
	if len(a.endpoints) > 0 {
		command += " --endpoint " + strings.Join(a.endpoints, " --endpoint ")
		config, flavor = config+fmt.Sprintf(",endpoints:[\"%s\"]", strings.Join(a.endpoints, `","`)), ""
	}
	asks := "flavor"
	if flavor != "" {
		asks, flavor = cluster.FlavorNamed(flavor).Flag()
	}
	for _, flag := range []struct{ name, value string }{
		{asks, flavor}, {"sdk", a.sdk}, {"protocol", a.protocol}, {"transport", a.transport}, {"arm", a.arm}, {"seed", fmt.Sprint(a.seed)}, {"tier", a.tier},
	} {
		if flag.value != "" && flag.value != "tcp" {
			command += fmt.Sprintf(" --%s %s", flag.name, flag.value)
		}
	}
	faults := ""
	if a.noFaults {
		command += " --no-faults"
		faults = ", faults:false"
	}
	arm := ""
	if a.arm != "" {
		arm = fmt.Sprintf(",arm:[%q]", a.arm)
	}
	call := fmt.Sprintf("run_scenario(scenario:%q, config:{%s%s}, sdks:[%q], protocol:%q, seed:%d, tier:%q%s)",
		a.scenario, config, arm, a.sdk, a.protocol, a.seed, a.tier, faults)
	return reports.Step{Why: why, Command: command, Call: call}
}

// tapped is a run whose packets are recorded; none where the tap reads no such
// protocol.
func (c *sdkRuns) tapped(s *subject) []reports.Step {
	if c.protocol == contract.MQ9 {
		return nil
	}
	a := c.ask(s)
	a.arm = "tap"
	return []reports.Step{a.step("with the tap armed the wire tells who leaves the specification")}
}

func (c *sdkRuns) again(s *subject) reports.Step {
	return c.ask(s).step("a repetition with the same seed: what repeats counts")
}

func (c *sdkRuns) alone(s *subject) reports.Step {
	return c.ask(s).step("alone, on an idle machine")
}

// control is a run on the control broker, where there is one.
func (c *sdkRuns) control(s *subject) []reports.Step {
	a := c.ask(s)
	if a.flavor, a.endpoints = ControlFlavor(a.flavor, a.protocol, false), nil; a.flavor == "" {
		return nil
	}
	return []reports.Step{a.step("the control broker: what fails there too is not this broker's")}
}

func (c *sdkRuns) otherSDK(s *subject) reports.Step {
	a := c.ask(s)
	why := "another library: what fails with it too is the broker's"
	other := map[bool]string{true: "python", false: "go"}[strings.HasPrefix(s.sdk, "go/")]
	a.sdk = other
	return a.step(why)
}

// read is what is left once every run was made.
func (c *sdkRuns) read(s *subject, claim string) reports.Step {
	run := s.failing(claim)[0].RunID
	return reports.Step{
		Why: "every referee was heard: read what happened", Command: "rmq-mcp judge " + run,
		Call: fmt.Sprintf("get_run(run_id:%q, view:\"anomalies\")", run),
	}
}
