package finding

import "fmt"

// A Finder is [reports.Find] for a person, and [reports.FindID] for an agent.
type Finder func(stateDir, ref string) (string, error)

// RunOf returns the directory of a run, or of the newest run that shows a finding.
func RunOf(dir, id string, find Finder) (string, error) {
	run, noRun := find(dir, id)
	if noRun == nil {
		return run, nil
	}
	all, err := Load(dir)
	if err != nil {
		return "", err
	}
	f, err := all.Find(id)
	if err != nil {
		return "", fmt.Errorf("%w; %w", noRun, err)
	}
	return find(dir, f.Runs[0].RunID)
}
