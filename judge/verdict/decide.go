package verdict

import (
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
)

// CapOneSeed is the cap that every single run carries: only a series lifts it.
const CapOneSeed = "one seed: three agreeing make PASS-hardening"

// NotRepeated is the reason of a violation that was seen in one run alone.
const NotRepeated = "not repeated"

// Decide gives the verdict on one run. A violation is a FAIL whatever else
// went wrong; else the first shortfall in [States] names the state.
func Decide(in Input) Verdict {
	v := Verdict{Results: in.Results, Caps: []string{}, Reasons: []string{}, Runs: []string{}}
	if in.Root != "" {
		v.Runs = append(v.Runs, in.Root)
	}
	short := Shortfalls(in)
	failed := failures(in.Results)
	if len(failed) > 0 {
		v.State = FailOnce
		v.Reasons = append(failReasons(in.Run, failed), NotRepeated)
		v.Severity = Severity(failed)
		if v.Blame = blame(in, failed); v.Severity == Expected && strings.HasPrefix(v.Blame, string(Undecided)) {
			v.Blame = "" // more runs would not say more
		}
	} else if len(short) > 0 {
		v.State = short[0].State()
	} else {
		v.State = PassHardening
	}
	for _, s := range short {
		if s.cap() {
			v.Caps = append(v.Caps, s.Text)
		} else {
			v.Reasons = append(v.Reasons, s.Text)
		}
	}
	if in.Run != nil && in.Run.Cluster.Planted != "" {
		v.Planted = in.Run.Cluster.Planted
		shown := ""
		if n := in.Coverage.PlantShown; n != nil {
			shown = ", which showed " + plural(*n, "time", "times")
		}
		v.Caps = append(v.Caps, fmt.Sprintf("rmq-mcp planted the defect %s%s: this says nothing about %s", v.Planted, shown, vendor(in.Run)))
	}
	if in.Run != nil && in.Run.Control {
		v.Caps = append(v.Caps, "a control, without the scenario's faults"+because([]string{in.Run.ControlWhy}))
	}
	if in.Run != nil && in.Run.Lowered != "" {
		v.Caps = append(v.Caps, "it published "+in.Run.Lowered)
	}
	v.Headline = headline(v, in) + plantedIn(v)
	return v
}

func failures(results []Result) (list []Result) {
	for _, r := range results {
		if r.Status == Fail {
			list = append(list, r)
		}
	}
	return bySeverity(list)
}

func failReasons(run *history.Run, failed []Result) (list []string) {
	for _, r := range failed {
		list = append(list, fmt.Sprintf("%s (%s): %s", r.Claim.Name, r.Claim.Source, r.Summary))
		if why := notPromised(run, r); why != "" {
			list = append(list, why)
		}
	}
	return list
}

// Unpromised is the answer of [PromisedBy] for a claim that the broker's vendor does not make.
const Unpromised = "not promised"

// PromisedBy says who makes a result's claim. Packets and client libraries need no promise of the
// vendor: the specification binds them.
func PromisedBy(c history.ClusterInfo, r Result) string {
	unknown := c.Lacks[history.LacksPromises] != ""
	switch {
	case strings.HasPrefix(r.Claim.Source, "common expectation"):
		return "common expectation"
	case r.Claim.Wire || r.Claim.Of == SDK || r.Promised && unknown:
		return "specification"
	case unknown:
		return "not known"
	case r.Promised && r.Claim.Source == Budget:
		return "vendor, within the scenario's bound"
	case r.Promised:
		return "vendor"
	}
	return Unpromised
}

// notPromised says that the broker's vendor does not promise the failed claim, "" if it does,
// or if its promises are not known.
func notPromised(run *history.Run, r Result) string {
	var c history.ClusterInfo
	if run != nil {
		c = run.Cluster
	}
	if r.Expected != "" || PromisedBy(c, r) != Unpromised {
		return r.Expected
	}
	return fmt.Sprintf("%s does not promise %s in this configuration", vendor(run), r.Claim.Name)
}

func vendor(run *history.Run) string {
	if run == nil || run.Cluster.Flavor == "" {
		return "the vendor"
	}
	return run.Cluster.Flavor
}
