package code

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/reports"
)

// InRun finds code for a run, whose directory is the request's. Source is a directory, or a git
// repository of which a version is read; "" is the version of the run's broker.
func InRun(ctx context.Context, source, version string, r Request) (Places, error) {
	report, err := reports.Dir(r.Dir).Report()
	if err != nil {
		return Places{}, fmt.Errorf("find code of run %s: %w", filepath.Base(r.Dir), err)
	}
	own := VersionOf(report)
	if version == "" {
		version = own
	}
	tree, err := ReadTree(ctx, source, version)
	if err != nil {
		return Places{}, err
	}
	if version != own {
		tree.Checked = false
		tree.Notes = append(tree.Notes, fmt.Sprintf("this is the source of %s, and the run was on %q: lines may have moved", version, own))
	}
	return Find(ctx, tree, r)
}

// CheckForRun checks places in the source of a run's broker. If the source does not have its version,
// nothing is checked, and each place says so.
func CheckForRun(ctx context.Context, source, run string, places []string) ([]reports.CodeCheck, error) {
	report, err := reports.Dir(run).Report()
	if err != nil {
		return nil, fmt.Errorf("check the places in the code for run %s: %w", filepath.Base(run), err)
	}
	tree, err := ReadTree(ctx, source, VersionOf(report))
	if err == nil && tree.Checked {
		return Check(tree, places), nil
	}
	var list []reports.CodeCheck
	for _, p := range places {
		list = append(list, reports.CodeCheck{Place: p, Tree: filepath.Base(source), Found: reports.CodeNotChecked, Why: fmt.Sprintf("the server has no source of %q", report.Cluster.Version)})
	}
	return list, nil
}
