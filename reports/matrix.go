package reports

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Matrix is matrix.json: scenarios run with client libraries, and
// what the differences between the runs come from.
type Matrix struct {
	Format       int           `json:"format"`
	ID           string        `json:"matrix_id"`
	Tool         string        `json:"tool"` // version of rmq-mcp
	Scenarios    []string      `json:"scenarios"`
	Seed         int64         `json:"seed"` // of every cell
	Tier         string        `json:"tier"`
	Started      time.Time     `json:"started"`
	DurationS    float64       `json:"duration_s"`
	Finished     bool          `json:"finished"`
	Headline     string        `json:"headline"`
	Cells        []MatrixCell  `json:"cells"`
	Attributions []Attribution `json:"attributions"`
	Notes        []string      `json:"notes"`   // what was not compared with what
	Command      string        `json:"command"` // repeats it
}

// Title names the scenarios, or says how many there are.
func (m Matrix) Title() string {
	if n := len(m.Scenarios); n > 3 {
		return fmt.Sprintf("%d scenarios", n)
	}
	return strings.Join(m.Scenarios, ", ")
}

// A MatrixCell is one run of a matrix, or why there is none.
type MatrixCell struct {
	Scenario  string        `json:"scenario"`
	SDK       string        `json:"sdk"` // lang/package@version
	Protocol  string        `json:"protocol"`
	Transport string        `json:"transport"`
	Flavor    string        `json:"flavor"`
	Broker    string        `json:"broker"`              // by name and version, once it ran
	NoFaults  bool          `json:"no_faults,omitempty"` // the workload alone
	Referee   string        `json:"referee,omitempty"`   // why it was run beside the matrix: tap, again, control
	State     verdict.State `json:"state"`               // or one of the states below
	Line      string        `json:"line"`                // what it showed, in one line
	Failed    []string      `json:"failed"`              // claims
	Severity  string        `json:"severity,omitempty"`
	Blame     string        `json:"blame,omitempty"`
	RunID     string        `json:"run_id,omitempty"`
	Root      string        `json:"root,omitempty"`
	DurationS float64       `json:"duration_s,omitempty"`
}

// States of a cell that has no verdict to show.
const (
	CellUnsupported verdict.State = "unsupported" // cannot be: the broker, the library or this machine lacks something
	CellError       verdict.State = "error"       // the harness could not prepare or run it
	CellStarved     verdict.State = "starved"     // the host kept it from running; what it showed says nothing
	CellPending     verdict.State = "pending"     // not run yet
)

// Cause is what a deviation comes from.
type Cause string

// The causes.
const (
	CauseProtocol    Cause = "protocol implementation" // SDKs disagree each time, and the broker leaves the specification
	CauseSDK         Cause = "SDK version"             // one version, or a range of them, leaves it
	CauseLibrary     Cause = "SDK"                     // a library leaves it, of which one version was tried
	CauseBroker      Cause = "broker"                  // all SDKs fail, and not on another broker
	CauseHarness     Cause = "harness"                 // also where nothing is broken
	CauseEnvironment Cause = "environment"             // the machine: load, what could not be installed
	CauseUndecided   Cause = "undecided"
)

// Broken reports whether something is: the broker, or a client library.
func (c Cause) Broken() bool {
	return c == CauseProtocol || c == CauseBroker || c == CauseSDK || c == CauseLibrary
}

// Accuses reports whether the cause is a party's doing.
func (c Cause) Accuses(p verdict.Party) bool {
	switch c {
	case CauseBroker, CauseProtocol:
		return p == verdict.Broker
	case CauseSDK, CauseLibrary:
		return p == verdict.SDK
	case CauseHarness:
		return p == verdict.Harness || p == verdict.CheckerSelf
	case CauseEnvironment:
		return p == verdict.Environment
	}
	return p == verdict.Undecided
}

// Party is the one that the cause accuses, [verdict.Undecided] for none.
func (c Cause) Party() verdict.Party {
	for _, p := range []verdict.Party{verdict.Broker, verdict.SDK, verdict.Harness, verdict.Environment} {
		if c.Accuses(p) {
			return p
		}
	}
	return verdict.Undecided
}

// An Attribution is one deviation and what it comes from.
type Attribution struct {
	Cause     Cause    `json:"cause"`
	Suspect   Cause    `json:"suspect,omitempty"` // of an undecided one: what the pattern points at
	Proof     string   `json:"proof"`             // what decided it: wire, control, versions, protocol; "" for an undecided one
	Claims    []string `json:"claims"`            // that fail; none where no verdict could be reached
	Source    string   `json:"source,omitempty"`  // of the claim that is worst: section of the specification
	SDKs      []string `json:"sdks"`              // that deviate
	Versions  string   `json:"versions"`          // the same for people: go/paho.mqtt.golang 1.3.0 to 1.3.5
	Scenario  string   `json:"scenario"`
	NoFaults  bool     `json:"no_faults,omitempty"`     // the workload alone
	Without   Times    `json:"without_faults,omitzero"` // runs of the same SDKs without the faults; zero where none could tell
	Protocol  string   `json:"protocol"`
	Transport string   `json:"transport"`
	Broker    string   `json:"broker"`
	Text      string   `json:"text"`     // one sentence
	Evidence  []string `json:"evidence"` // what shows it, each naming its run
	Issue     string   `json:"issue,omitempty"`
	Runs      []string `json:"run_ids"`
	Next      []Step   `json:"next"`                       // what would decide it, or prove it better
	Controls  int      `json:"controls_lacking,omitempty"` // runs on the control broker that must hold the claims, too, before it is the broker's
}

// Times is in how many of some runs something failed.
type Times struct {
	Failed int `json:"failed"`
	Of     int `json:"of"`
}

// Where names the scenario, protocol, transport and broker.
func (a Attribution) Where() string {
	faults := ""
	if a.NoFaults {
		faults = " without faults"
	}
	return fmt.Sprintf("%s%s, %s over %s on %s", a.Scenario, faults, a.Protocol, a.Transport, a.Broker)
}

// Class of the cause, for colours: fail where something is broken.
func (a Attribution) Class() string {
	if a.Cause.Broken() {
		return "fail"
	}
	return "unclear"
}

// Words returns the cause in words, with the suspect and the proof.
func (a Attribution) Words() string {
	text := string(a.Cause)
	if a.Suspect != "" {
		text += ", suspected: " + string(a.Suspect)
	}
	if a.Proof != "" {
		text += ", by " + a.Proof
	}
	return text
}

// A Step is one thing to do next, for people and for agents.
type Step struct {
	Why     string `json:"why"`
	Command string `json:"command"`
	Call    string `json:"call"` // the same as a call of a tool
}

// MatrixFormat is the version of matrix.json.
const MatrixFormat = 1

// MatricesDir holds matrices, a directory each, beside RunsDir; MatrixFile is
// the document in each of them.
const (
	MatricesDir    = "matrices"
	MatrixFile     = "matrix.json"
	MatrixMarkdown = "matrix.md"
	matrixPage     = "matrix.html"
)

// Matrices answers the directories of all matrices, in order of their names.
func Matrices(stateDir string) ([]string, error) {
	dirs, err := filepath.Glob(filepath.Join(stateDir, MatricesDir, "[^.]*"))
	if err != nil {
		return nil, fmt.Errorf("list matrices: %w", err)
	}
	return slices.DeleteFunc(dirs, func(dir string) bool { return !stored.IsID(filepath.Base(dir)) }), nil // Glob sorts
}

// ReadMatrix reads the document of a matrix's directory.
func ReadMatrix(dir string) (Matrix, error) {
	var m Matrix
	path := filepath.Join(dir, MatrixFile)
	if err := stored.ReadJSON(path, &m); err != nil {
		return m, err
	}
	if m.Format != MatrixFormat {
		return m, fmt.Errorf("read %s: it has format %d and this version reads format %d", path, m.Format, MatrixFormat)
	}
	if m.ID != filepath.Base(dir) { // it becomes part of paths
		return m, fmt.Errorf("read %s: it is of matrix %q", path, m.ID)
	}
	if n := newGrid(m).size(); n > mostOfGrid {
		return m, fmt.Errorf("read %s: its table would have %d cells, which is more than %d", path, n, mostOfGrid)
	}
	return m, nil
}

// mostOfGrid is how many cells the table of a matrix may have. A stranger's could name a
// library and a scenario in each.
const mostOfGrid = 100_000
