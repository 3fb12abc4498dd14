package reports

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/checker"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// render writes what people and lists read about a judged run.
func (d *RunDir) render(v verdict.Verdict, found checker.Report) (*Summary, error) {
	files, row, err := d.rendered(v, found)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if err := WriteFile(d.File(f.path), f.content); err != nil {
			return nil, err
		}
	}
	row.Dir = string(d.Dir)
	return &Summary{Row: row, Verdict: v}, nil
}

// rendered answers the files that people and lists read, which follow from the
// evidence, the verdict and the notes alone. The summary comes last: where it
// is written, there is all the rest.
func (d *RunDir) rendered(v verdict.Verdict, found checker.Report) ([]file, Row, error) {
	act, seen, story, err := d.follow(v)
	if err != nil {
		return nil, Row{}, err
	}
	r, err := d.report(v, found, act, seen)
	if err == nil {
		r.Story = story.end(r, act.end)
	}
	if err != nil {
		return nil, Row{}, err
	}
	text, err := Markdown(r)
	if err != nil {
		return nil, Row{}, err
	}
	report, err := JSON(r)
	if err != nil {
		return nil, Row{}, err
	}
	row := r.row()
	summary, err := JSON(row)
	return []file{
		{TimelineFile, drawTimeline(pictureTitle(r), act, r.Landings, r.Losses, trendsOf(v))},
		{MarkdownFile, text}, {ReportFile, report}, {SummaryFile, summary},
	}, row, err
}

// follow folds the events into the traffic over time, and keeps the rows that
// show the violations, and those of the story of one message.
func (d *RunDir) follow(v verdict.Verdict) (*activity, rows, *storyteller, error) {
	events, err := d.Events()
	if err != nil {
		return nil, nil, nil, err
	}
	defer events.Close()
	act, seen, story := newActivity(events.Tables()), rowsOf(v), tell(v, events.Tables())
	for {
		batch, err := events.Next()
		if err == io.EOF {
			act.finish()
			return act, seen, story, nil
		}
		if err != nil {
			return nil, nil, nil, err
		}
		act.Add(batch)
		seen.Add(batch)
		story.Add(batch)
	}
}

func (d *RunDir) report(v verdict.Verdict, found checker.Report, act *activity, seen rows) (*Report, error) {
	seal, err := d.Dir.Seal()
	if err != nil {
		return nil, err
	}
	calls, err := readCalls(d.Evidence())
	if err != nil {
		return nil, err
	}
	notes, err := readNotes(string(d.Dir))
	if err != nil {
		return nil, err
	}
	matrix, err := decidedIn[Membership](d.Dir, MatrixFile)
	if err != nil {
		return nil, err
	}
	blame, err := d.Dir.Blame()
	if err != nil {
		return nil, err
	}
	series, err := d.Dir.Series()
	if err != nil {
		return nil, err
	}
	plans, err := d.Dir.Plans()
	if err != nil {
		return nil, err
	}
	again, err := d.Reproduce(d.Run)
	if err != nil {
		return nil, err
	}
	run, landings := d.Run, d.Decided()
	panics, around := panicked{at: map[panicPlace]int{}}, newFaultLogs(run, landings)
	if err := readLogs(string(d.Dir), act.tables.Nodes, panics.of, around.of); err != nil {
		return nil, fmt.Errorf("read the logs of run %s: %w", d.Run.ID, err)
	}
	return &Report{
		Format: reportFormat, ID: run.ID, Tool: run.Tool, Started: run.Started, DurationS: act.end.Seconds(),
		Scenario: ScenarioInfo{Name: run.Name(), Title: scenarioTitle(d.Scenario), SHA256: run.ScenarioSHA, Text: d.Scenario},
		Protocol: run.Protocol, Transport: run.Transport, LeftOut: run.LeftOut, Lowered: run.Lowered, Wire: run.Wire, SDKs: sdks(run, act.tables), InPods: run.InPods, Seed: run.Seed, Tier: run.Tier,
		Cluster: run.Cluster, Nodes: notNil(act.tables.Nodes), Phases: notNil(act.phases), Calls: calls,
		Totals: found.Totals, NodePairs: found.NodePairs, Members: found.Members, Coverage: found.Coverage, Complete: found.Complete,
		Verdict: v, Shortfalls: d.Shortfalls(found), Landings: landings, Losses: losses(v, found, act.tables, landings),
		Violations: violations(v, seen, act.tables, landings),
		Panics:     panics.sorted(), PanicsCut: panics.cut, FaultLogs: around.list,
		Harness: notNil(d.Harness), Notes: notes, Logs: logFiles(seal),
		Evidence: Evidence{
			Root: seal.Root, Files: len(seal.Files), JournalHead: seal.JournalHead, JournalEntries: seal.JournalEntries,
			PublicKey: seal.PublicKey, Sealed: seal.Time,
		},
		Reproduce: again.Command, NotChosen: again.NotChosen, Blame: blame, Matrix: matrix, Series: series, Plans: plans,
	}, nil
}

// Decided answers the landings as the verdict takes them.
func (d *RunDir) Decided() []history.Landing {
	list, _ := verdict.DecideLandings(d.Run, d.Landings)
	return notNil(list)
}

func (r *Report) row() Row {
	shown := r.shown()
	return Row{
		ID: r.ID, Scenario: r.Scenario.Name, Protocol: r.Protocol, SDK: sdkNames(r.SDKs),
		Flavor: r.Cluster.Flavor, Version: r.Cluster.Version, Planted: r.Cluster.Planted, Nodes: r.Cluster.Nodes, Seed: r.Seed, Tier: r.Tier,
		Started: r.Started, DurationS: r.DurationS, State: shown.State, Headline: shown.Headline,
		Severity: r.Verdict.Severity, Totals: r.Totals, Root: r.Evidence.Root,
	}
}

func pictureTitle(r *Report) string {
	name := r.Scenario.Name
	if name == "" {
		name = "exploration by hand"
	}
	return fmt.Sprintf("%s on %s: %s", name, BrokerName(r.Cluster), r.shown().State)
}

// BrokerName is a broker by its flavor and version, with the defect that rmq-mcp planted:
// it is not the vendor's.
func BrokerName(c history.ClusterInfo) string {
	name := strings.TrimSpace(c.Flavor + " " + c.Version)
	switch {
	case c.Version == history.UnknownVersion:
		name = c.Flavor + " broker"
	case strings.HasPrefix(c.Version, c.Flavor):
		name = c.Version
	}
	if c.Planted != "" {
		name += " with " + c.Planted + " planted"
	}
	return name
}

// profileOf is the profile of a broker's settings, "" if they are not ours.
func profileOf(c history.ClusterInfo) string {
	if c.Lacks[history.LacksFaults] != "" {
		return ""
	}
	return c.Profile
}

// scenarioTitle is the first heading of the prose.
func scenarioTitle(text string) string {
	for line := range strings.Lines(text) {
		if title, ok := strings.CutPrefix(line, "# "); ok {
			return strings.TrimSpace(title)
		}
	}
	return ""
}

// sdks lists the libraries behind the processes, in order of appearance; the one that was
// asked for in a run that had none.
func sdks(run *history.Run, t *history.Tables) []SDK {
	all := []SDK{}
	if len(t.Processes) == 0 && run.SDK != "" {
		name, version, _ := strings.Cut(run.SDK, "@")
		return append(all, SDK{Name: name, Version: version, Protocol: run.Protocol})
	}
	at := map[[2]string]int{}
	for _, p := range t.Processes {
		key := [2]string{p.SDK, p.Protocol}
		i, ok := at[key]
		if !ok {
			name, version, _ := strings.Cut(p.SDK, "@")
			i, at[key] = len(all), len(all)
			all = append(all, SDK{Name: name, Version: version, Protocol: p.Protocol})
		}
		all[i].Clients++
	}
	return all
}

func sdkNames(all []SDK) string {
	var names []string
	for _, s := range all {
		names = append(names, strings.TrimSuffix(s.Name+"@"+s.Version, "@"))
	}
	return strings.Join(names, ", ")
}

func logFiles(seal *Seal) []LogFile {
	logs := []LogFile{}
	for _, path := range sortedKeys(seal.Files) {
		if strings.HasPrefix(path, EvidenceDir+"/"+LogsDir+"/") {
			logs = append(logs, LogFile{path, seal.Files[path].Bytes, seal.Files[path].SHA256})
		}
	}
	return logs
}

// seconds of a time in the run, as people read it.
func seconds(ns int64) string { return fmt.Sprintf("%.2f s", time.Duration(ns).Seconds()) }

func joined(list []string, with string) string { return strings.Join(list, with) }

func notNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
