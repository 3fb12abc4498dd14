// Package verdict decides. It is pure: the same results, landings and coverage
// give the same state, on any machine, at any time.
//
// The states and their order are those of the nine-state taxonomy of the
// distributed-system-testing skills, with its holes closed. A violation stands whatever
// else went wrong. It is called neither reproducible nor nondeterministic before it was
// tried again. A fault that did not land is never a pass, and neither is a checker that
// did not run.
package verdict

// State is the result of a run, or of a series of runs of one scenario.
type State string

const (
	PassSmoke          State = "PASS-smoke"
	PassHardening      State = "PASS-hardening"
	FailReproducible   State = "FAIL-reproducible"
	FailNondetermin    State = "FAIL-nondeterministic"
	FailOnce           State = "FAIL-once" // of a run that was not repeated
	InconclusiveEnv    State = "INCONCLUSIVE-env"
	InconclusiveOracle State = "INCONCLUSIVE-oracle-too-weak"
	InconclusiveFault  State = "INCONCLUSIVE-fault-not-proven"
	PartialSurface     State = "PARTIAL-surface"
	PartialModel       State = "PARTIAL-model"
	NotRun             State = "NOT-RUN"
)

// A Party is the one to blame for a failure. A verdict's Blame begins with one.
type Party string

// Budget is the source of claims whose bound is the scenario's.
const Budget = "the scenario's budget"

// The parties.
const (
	Broker      Party = "broker"
	SDK         Party = "sdk"
	Harness     Party = "harness"
	Environment Party = "environment"
	CheckerSelf Party = "checker"
	Undecided   Party = "unknown" // and what would decide it
)

// A Claim is a promise, quoted, with where it is made.
type Claim struct {
	Name     string `json:"name"`               // qos1-no-loss
	Text     string `json:"text"`               // the promise, in the source's words
	Source   string `json:"source"`             // MQTT 3.1.1 section 4.3.2 [MQTT-4.3.2-2]
	Of       Party  `json:"of,omitempty"`       // the party that makes it; "" is the broker
	Wire     bool   `json:"wire,omitempty"`     // judged by the packets on the wire, beside the claims that the run asked for
	Gated    bool   `json:"gated"`              // safety: a violation of it is worth a person whatever the vendor promises
	Severity string `json:"severity,omitempty"` // of its violation, P0 to P3
}

// Status is a checker's answer on one claim.
type Status string

const (
	Pass    Status = "pass"
	Fail    Status = "fail"
	Unknown Status = "unknown"
)

// A Result is the finding of one checker about one claim.
type Result struct {
	Claim      Claim            `json:"claim"`
	Status     Status           `json:"status"`
	Summary    string           `json:"summary"`              // one line
	Reasons    []string         `json:"reasons,omitempty"`    // why it is unknown
	Promised   bool             `json:"promised"`             // the broker's vendor makes this claim for this configuration
	Expected   string           `json:"expected,omitempty"`   // why every violation was to be expected; "" if one was not
	Checker    string           `json:"checker"`              // name and version: lost@1
	Consumed   int64            `json:"consumed"`             // events it looked at
	Judged     int64            `json:"judged"`               // things it decided about: messages, sessions, …
	Counts     map[string]int64 `json:"counts,omitempty"`     // acked, delivered, lost, duplicated, …
	Reached    map[string]int64 `json:"reached,omitempty"`    // how often the run came into each situation in which the claim may break, by name
	Anomalies  []Anomaly        `json:"anomalies,omitempty"`  // the first ones, complete; Counts has the totals
	Violations []Violations     `json:"violations,omitempty"` // all of them, counted
	Groups     []Group          `json:"groups,omitempty"`     // the groups of clients that were compared, if any
	Trends     []Trend          `json:"trends,omitempty"`     // of a claim about growth, node by node
	Canary     Canary           `json:"canary"`
}

// A Group is the clients of one kind at one node in the time of a fault, against
// themselves before the first.
type Group struct {
	Name       string  `json:"group"`        // online at node-2
	Of         string  `json:"of"`           // acknowledgement, delivery
	Fault      string  `json:"fault"`        // f1 (slow_reader of client:online-1)
	Clients    int     `json:"clients"`      // in it
	Before     Figures `json:"before"`       // the first fault
	During     Figures `json:"during"`       // the fault
	Worst      string  `json:"worst_client"` // of the group, during the fault
	WorstP99MS float64 `json:"worst_p99_ms"` // its own
	Slowed     bool    `json:"slowed"`       // beyond the scenario's bounds
}

// Figures say how a group was served in a time. A message that never came counts with
// the time from its call to the end of the recording.
type Figures struct {
	Messages int64   `json:"messages"`   // published then
	PerS     float64 `json:"per_second"` // acknowledged, or delivered, then
	P50MS    float64 `json:"p50_ms"`     // latency of those published then
	P99MS    float64 `json:"p99_ms"`
}

// A Trend is the course of one quantity at one node over a time of even load.
type Trend struct {
	Quantity string    `json:"quantity"`         // memory, descriptors, connections, latency
	Metric   string    `json:"metric,omitempty"` // that it was read as: process_fds; none of latency
	Node     string    `json:"node"`
	FromNS   int64     `json:"from_ns"` // the time that was judged
	ToNS     int64     `json:"to_ns"`
	Samples  int       `json:"samples"`      // in that time
	Unit     string    `json:"unit"`         // of the levels: MiB, "" of what is counted
	Levels   []float64 `json:"levels"`       // medians of the equal parts of that time
	PerHour  string    `json:"unit_of_rate"` // of the slope, its interval and the budget: MiB/h
	Slope    float64   `json:"slope"`
	Low      float64   `json:"low"` // of the slope's confidence interval
	High     float64   `json:"high"`
	Budget   float64   `json:"budget"`        // 0: none
	Status   Status    `json:"status"`        // "": not judged
	Why      string    `json:"why,omitempty"` // it is unknown, or not judged
}

// Violations counts the violations of one kind at one process with one party to blame.
type Violations struct {
	Kind     string `json:"kind"` // as of [Anomaly]
	Process  int32  `json:"process"`
	Blame    Party  `json:"blame,omitempty"`
	Expected bool   `json:"expected,omitempty"` // as of [Anomaly]
	Count    int64  `json:"count"`
	FromNS   int64  `json:"from_ns"` // of the first
	ToNS     int64  `json:"to_ns"`   // of the last
}

// Found returns the number of violations; [Result.Anomalies] has the first.
func (r Result) Found() int64 {
	found := int64(0)
	for _, v := range r.Violations {
		found += v.Count
	}
	return max(found, int64(len(r.Anomalies))) // older verdicts count none
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
	Blame   Party   `json:"blame,omitempty"` // the party that the wire shows, or the end of a process; "" where neither tells

	// A killed node lost what it had not saved, which the vendor does not promise to keep.
	Expected bool `json:"expected,omitempty"`
}

// A Canary is the same checker over a mutated copy of the same history. It
// must turn red, or the checker's own pass does not count.
type Canary struct {
	Mutation string `json:"mutation"` // the change to the copy
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
	Reasons  []string `json:"reasons"`            // the grounds of the decision
	Severity string   `json:"severity,omitempty"` // of a failure: P0 to P3, or expected
	Blame    string   `json:"blame,omitempty"`    // of a failure: a [Party], a colon, and why, or what would decide it
	Planted  string   `json:"planted,omitempty"`  // a defect of rmq-mcp's own, so that nothing is said of the broker
	Results  []Result `json:"results"`
	Tally    []Tally  `json:"tally,omitempty"` // of a series, claim by claim
	Runs     []string `json:"runs"`            // root hashes of the attempts, one for a single run
}

// A Tally counts the results of a series of attempts on one claim.
type Tally struct {
	Claim   string `json:"claim"`
	Failed  int    `json:"failed"`
	Passed  int    `json:"passed"`
	Unknown int    `json:"unknown"`
	Of      int    `json:"of"` // attempts
}
