// Package reports reads and writes the run directory: the evidence and the seal over
// it, the verdict that follows from it, and everything that people read about it:
// report.json, report.md, the timeline and the published copies.
//
//	StateDir/runs/ID/
//	  evidence/           run.json start.json scenario.md tables.jsonl history.arrow
//	                      landings.json journal.jsonl harness.json logs/
//	  SEAL                one hash per evidence file, their root, signed
//	  verdict.json        decided from evidence/ alone
//	  report.json         for machines; report.schema.json describes it
//	  report.md           for people
//	  timeline.svg        the events in time
//	  summary.json        the few words of it in lists
//	  plans.json          the frozen plans that it is an attempt of, if any
//	  notes.jsonl         the agent's notes, chained; quoted, never believed
//
// Evidence is sealed before it is judged, so that a crashing checker cannot take it
// along. Nothing in evidence/ changes afterwards.
package reports

// Names inside a run directory.
const (
	EvidenceDir  = "evidence"
	SealFile     = "SEAL"
	VerdictFile  = "verdict.json"
	ReportFile   = "report.json"
	MarkdownFile = "report.md"
	TimelineFile = "timeline.svg"
	SummaryFile  = "summary.json"
	NotesFile    = "notes.jsonl"
	HistoryFile  = "history.arrow"
	JournalFile  = "journal.jsonl"
	ScenarioFile = "scenario.md"
	DocumentFile = "broker.yaml" // the description of the broker, if a run had one
	StartFile    = "start.json"  // how the run was started, for a replay
	HarnessFile  = "harness.json"
	LogsDir      = "logs"
	RunsDir      = "runs"
	NodesDir     = "nodes" // what nodes store while a run lasts
	sealFormat   = 1
	reportFormat = 1
)
