// Package verdict decides. It is pure: the same results, landings and coverage
// give the same state, on any machine, at any time.
//
// The states and their order are those of the nine-state taxonomy of the
// distributed-system-testing skills, with its holes closed: a violation stands
// whatever else went wrong, a fault that did not land is never a pass, and a
// checker that did not run is never a pass.
package verdict

// State is what a run, or a series of runs of one scenario, showed.
type State string

const (
	PassSmoke          State = "PASS-smoke"
	PassHardening      State = "PASS-hardening"
	FailReproducible   State = "FAIL-reproducible"
	FailNondetermin    State = "FAIL-nondeterministic"
	InconclusiveEnv    State = "INCONCLUSIVE-env"
	InconclusiveOracle State = "INCONCLUSIVE-oracle-too-weak"
	InconclusiveFault  State = "INCONCLUSIVE-fault-not-proven"
	PartialSurface     State = "PARTIAL-surface"
	PartialModel       State = "PARTIAL-model"
	NotRun             State = "NOT-RUN"
)

// A Claim is a promise, quoted, with where it is made.
type Claim struct {
	Name   string `json:"name"`   // qos1-no-loss
	Text   string `json:"text"`   // the promise, in the source's words
	Source string `json:"source"` // MQTT 3.1.1 section 4.3.2 [MQTT-4.3.2-2]
	Gated  bool   `json:"gated"`  // safety: a violation of it is worth a person whatever the vendor promises
}

// Status is a checker's answer on one claim.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Unknown Status = "unknown"
)

// A Result is what one checker found about one claim.
type Result struct {
	Claim     Claim            `json:"claim"`
	Status    Status           `json:"status"`
	Summary   string           `json:"summary"`             // one line
	Reasons   []string         `json:"reasons,omitempty"`   // why it is unknown
	Promised  bool             `json:"promised"`            // the broker's vendor makes this claim for this configuration
	Checker   string           `json:"checker"`             // name and version: lost@1
	Consumed  int64            `json:"consumed"`            // events it looked at
	Judged    int64            `json:"judged"`              // things it decided about: messages, sessions, …
	Counts    map[string]int64 `json:"counts,omitempty"`    // acked, delivered, lost, duplicated, …
	Anomalies []Anomaly        `json:"anomalies,omitempty"` // the first ones, complete; Counts has the totals
	Canary    Canary           `json:"canary"`
}

// An Anomaly is one violation, with the events that show it.
type Anomaly struct {
	Kind    string  `json:"kind"` // lost, duplicated, unexpected, corrupted, nonmonotonic, skipped, …
	Process int32   `json:"process"`
	Stream  int32   `json:"stream"`
	Seq     int64   `json:"seq"`
	TimeNS  int64   `json:"t_ns"`
	Fault   string  `json:"fault,omitempty"` // in place at that time
	Events  []int64 `json:"events"`          // Index of the offending rows
	Text    string  `json:"text"`
}

// A Canary is the same checker over a mutated copy of the same history. It
// must turn red, or the checker's own pass does not count.
type Canary struct {
	Mutation string `json:"mutation"` // what was done to the copy
	Red      bool   `json:"red"`
	Skipped  string `json:"skipped,omitempty"` // why there was nothing to mutate
}

// A Verdict is the decision on one run or one series, with everything that
// led to it. It holds no time and no path, so that judging again gives the
// same bytes.
type Verdict struct {
	State    State    `json:"state"`
	Headline string   `json:"headline"`           // one sentence a person can quote
	Caps     []string `json:"caps"`               // why it is not better
	Reasons  []string `json:"reasons"`            // what decided it
	Severity string   `json:"severity,omitempty"` // P0 to P3, of a failure
	Blame    string   `json:"blame,omitempty"`    // SUT, harness, checker, environment, or unknown with the next step
	Results  []Result `json:"results"`
	Runs     []string `json:"runs"` // root hashes of the attempts, one for a single run
}
