package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/experiment"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/internal/mechanism/disk"
	"github.com/robustmq/rmq-mcp/reports"
)

// undoBound is how long undoing one experiment's faults may take.
const undoBound = time.Minute

// Recover ends a run whose keeper is dead: it undoes the faults, and seals and judges the record. A run
// without a record was refused before it began.
func Recover(runDir string) error {
	if _, err := os.Stat(reports.Dir(runDir).Evidence()); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// Armed mechanisms are not in the journal, and are mostly gone with the
	// keeper's namespaces.
	if _, err := disk.Release(runDir); err != nil {
		return err
	}
	if err := undo(runDir); err != nil {
		return err
	}
	if _, err := reports.Dir(runDir).Seal(); err != nil { // else it was done, and nothing can be noted any more
		if err := experiment.ForgetAfter(context.Background(), runDir); err != nil {
			fmt.Fprintf(os.Stderr, "rmq-mcp: remove what %s left at its broker: %v\n", filepath.Base(runDir), err)
		}
	}
	stateDir := filepath.Dir(filepath.Dir(runDir))
	if err := plan.Place(context.Background(), stateDir, runDir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "rmq-mcp: note the plans of %s: %v\n", filepath.Base(runDir), err)
	}
	key, err := reports.LoadKey(stateDir)
	if err != nil {
		return err
	}
	_, err = reports.Recover(runDir, key)
	return err
}

// undo replays the undo journal, and writes down what is undone unless the
// record is sealed already.
func undo(runDir string) error {
	path := reports.Dir(runDir).File(reports.EvidenceDir, reports.JournalFile)
	entries, err := journal.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read what is to be undone: %w", err)
	}
	lines := make([]faults.Line, len(entries))
	for i, e := range entries {
		lines[i] = faults.Line{Kind: e.Kind, Data: e.Data}
	}
	pending, err := faults.Pending(lines)
	if err != nil || len(pending) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), undoBound)
	defer cancel()
	healed, err := faults.Recover(ctx, pending, faults.Undoers())
	return errors.Join(err, note(runDir, path, healed))
}

func note(runDir, path string, healed []faults.Healed) error {
	if _, err := reports.Dir(runDir).Seal(); err == nil {
		return nil
	}
	j, err := journal.Open(path)
	if err != nil {
		return fmt.Errorf("write down what was undone: %w", err)
	}
	for _, h := range healed {
		if _, err = j.Append(faults.KindHealed, h); err != nil {
			break
		}
	}
	return errors.Join(err, j.Close())
}
