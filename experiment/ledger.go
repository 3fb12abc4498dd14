package experiment

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history/journal"
)

// ledger notes containers and pods in the run's journal, where whoever recovers the run finds
// them.
type ledger struct{ journal *journal.Journal }

func (l ledger) Making(layer, run string, found any) error {
	return l.append(faults.KindMade, faults.Made(layer, run, found))
}

func (l ledger) Gone(layer, run string) error {
	return l.append(faults.KindHealed, faults.Healed{Fault: faults.Made(layer, run, nil).Fault, Did: "removed with the cluster"})
}

func (l ledger) append(kind string, data any) error {
	if _, err := l.journal.Append(kind, data); err != nil {
		return fmt.Errorf("journal %s of the runtime: %w", kind, err)
	}
	return nil
}
