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

// notPromised says that the broker's vendor does not promise the failed claim, "" if it does,
// or if its promises are not known. Packets and client libraries need no promise: the specification
// binds them.
func notPromised(run *history.Run, r Result) string {
	if r.Promised || r.Expected != "" || r.Claim.Wire || r.Claim.Of == SDK || run != nil && run.Cluster.Lacks[history.LacksPromises] != "" {
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
