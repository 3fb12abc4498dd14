package experiment

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// ledger notes containers in the run's journal, where whoever recovers the run
// finds them.
type ledger struct{ journal *journal.Journal }

func (l ledger) Making(engine, run string) error {
	return l.append(faults.KindMade, faults.MadeContainers(engine, run))
}

func (l ledger) Gone(engine, run string) error {
	return l.append(faults.KindHealed, faults.Healed{Fault: faults.MadeContainers(engine, run).Fault, Did: "removed with the cluster"})
}

func (l ledger) append(kind string, data any) error {
	if _, err := l.journal.Append(kind, data); err != nil {
		return fmt.Errorf("journal %s containers: %w", kind, err)
	}
	return nil
}
