package reports

import (
	"fmt"

	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// Judge decides a run from its evidence and from nothing else: the same
// evidence gives the same verdict, anywhere, at any time. It writes nothing.
func (d *RunDir) Judge() (verdict.Verdict, checker.Report, error) {
	files, err := sumEvidence(string(d.Dir))
	if err != nil {
		return verdict.Verdict{}, checker.Report{}, err
	}
	found, err := d.check()
	if err != nil {
		return verdict.Verdict{}, checker.Report{}, fmt.Errorf("judge %s: %w", d.Dir, err)
	}
	in := d.input(found)
	in.Root = Root(files)
	return verdict.Decide(in), found, nil
}

// input is all that decides the run but the root of its seal.
func (d *RunDir) input(found checker.Report) verdict.Input {
	return verdict.Input{
		Run:      d.Run,
		Landings: d.Landings,
		Results:  found.Results,
		Complete: found.Complete,
		Coverage: found.Coverage,
		Harness:  d.Harness,
	}
}

// Shortfalls returns all that keeps a judged run from a better state, beside violations.
func (d *RunDir) Shortfalls(found checker.Report) []verdict.Shortfall {
	return verdict.Shortfalls(d.input(found))
}

func (d *RunDir) check() (checker.Report, error) {
	events, err := d.Events()
	if err != nil {
		return checker.Report{}, err
	}
	defer events.Close()
	return checker.Judge(events, checker.Context{
		Run:      d.Run,
		Tables:   events.Tables(),
		Landings: d.Landings,
	}, nil)
}
