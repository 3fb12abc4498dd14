package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// besides is a run without the claims beside that a fault of ours spoils, planned or
// by hand.
func besides(run *history.Run, landings []history.Landing) *history.Run {
	if len(run.Beside) == 0 {
		return run
	}
	out := *run
	out.NotClaimed = maps.Clone(run.NotClaimed)
	if out.NotClaimed == nil {
		out.NotClaimed = map[string]string{}
	}
	out.Beside = slices.DeleteFunc(slices.Clone(run.Beside), func(claim string) bool {
		e, err := Find(claim)
		if _, why := e.spoilt(run, nil, landings); err == nil && why != "" {
			out.NotClaimed[claim] = why
		}
		return out.NotClaimed[claim] != ""
	})
	return &out
}

// byOurs says which fault of ours that nobody planned may explain a violation of a claim,
// and why; "" for none. The planned ones were known when the claim was asked.
func (e Entry) byOurs(run *history.Run, landings []history.Landing) string {
	var planned []string
	for _, f := range run.Faults {
		planned = append(planned, f.Type)
	}
	fault, why := e.spoilt(run, planned, landings)
	if why == "" {
		return ""
	}
	return sentence("%s was injected by hand, and it may be its doing: %s", fault, why)
}

// spoilt returns the first fault whose type is why nobody is judged by a claim, and the
// reason; "" for none. Those of the known types are not looked at.
func (e Entry) spoilt(run *history.Run, known []string, landings []history.Landing) (fault, why string) {
	c := Circumstances{Nodes: run.Cluster.Nodes, Faults: append([]string{""}, known...)}
	anyway := e.unjudged(c) // under whatever fault
	for _, l := range landings {
		if l.Times.StartNS() == 0 {
			continue // nothing of it was done
		}
		c.Faults = append(c.Faults, l.Type)
		if why := e.unjudged(c); why != anyway {
			return called(l), why
		}
	}
	return "", ""
}
