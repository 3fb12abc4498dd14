package campaigns

import (
	"fmt"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/reports"
)

// earlier are the deviations of SDKs that speak an earlier version of their
// protocol, which brokers of today refuse. That is the SDK's, whatever its runs
// show, and nothing in them is held against a broker or compared with another
// SDK.
func (c *sdkRuns) earlier() (list []reports.Attribution) {
	deviates := func(s *subject) bool {
		said := func(m *subject) bool { return m.sdk == s.sdk }
		return !slices.ContainsFunc(c.controlled.outdated, said) &&
			slices.ContainsFunc(s.cells, func(c Cell) bool { return c.Verdict.State.ExitCode() != 0 })
	}
	for _, of := range byLibrary(slices.DeleteFunc(slices.Clone(c.outdated), func(s *subject) bool { return !deviates(s) })) {
		a := c.deviation(reports.CauseSDK, "", of)
		a.Proof = proofProtocol
		a.Text = fmt.Sprintf("%s speaks an earlier version of the protocol, as its driver declares: that %s does not understand it shows nothing else", a.Versions, c.group.broker)
		for _, s := range of {
			worst := s.judgedWorst()
			a.Evidence = append(a.Evidence, fmt.Sprintf("%s, run %s: %s", s.sdk, worst.RunID, worst.Verdict.Headline))
		}
		list = append(list, a)
	}
	return list
}

// outdated reports whether a run is one of an SDK that speaks an earlier version
// of the protocol. A starved run shows not even that.
func (c Cell) outdated() bool { return c.Earlier && c.ran() && !c.Starved() }

// speaksEarlier reports what the driver of a run's SDK declared of its protocol.
func speaksEarlier(dir reports.Dir, sdk string) (bool, error) {
	events, err := dir.Events()
	if err != nil {
		return false, err
	}
	defer events.Close()
	return slices.ContainsFunc(events.Tables().Processes, func(p history.Process) bool {
		return p.SDK == sdk && slices.Contains(p.Cannot, contract.CannotProtocol)
	}), nil
}
