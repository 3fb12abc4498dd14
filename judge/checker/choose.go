package checker

import (
	"maps"
	"slices"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// Circumstances are those of a run, by which claims it can be judged by.
type Circumstances struct {
	Protocol string            // "" where several may run
	Plain    bool              // clients use the plain listener
	Wire     bool              // packets are recorded
	Nodes    int               // of the cluster
	Promises []string          // of the broker's vendor, by claim
	Lacks    map[string]string // the things that cannot be had of the cluster, as in [history.ClusterInfo]
	Reorders bool              // the broker redelivers out of order, by its own documentation
	Cannot   []string          // of the client library, as its driver declares it
	Dedupes  bool              // the library passes one copy of a message on
	ExpiryS  float64           // how late the end of something may come; 0: nobody says
	Faults   []history.PlannedFault
}

// shows reports whether a run can show anything of a claim.
func (e Entry) shows(c Circumstances) bool { return e.hidden(c) == "" }

// hidden returns why a run can show nothing of a claim, or "".
func (e Entry) hidden(c Circumstances) string {
	switch {
	case e.Sees != "" && c.Lacks[e.Sees] != "":
		return c.Lacks[e.Sees]
	case e.Plain && !c.Plain:
		return "it looks at connections of the plain listener alone"
	case e.Shown != "" && slices.Contains(c.Cannot, e.Shown):
		return "the client library does not show it"
	}
	return ""
}

// Shown returns those of the claims of which a run can show something.
func (c Circumstances) Shown(claims []string) []string {
	hidden := c.Hidden(claims)
	return slices.DeleteFunc(slices.Clone(claims), func(claim string) bool { return hidden[claim] != "" })
}

// Hidden returns those of the claims of which a run can show nothing, each with the reason.
func (c Circumstances) Hidden(claims []string) map[string]string {
	hidden := map[string]string{}
	for _, claim := range claims {
		e, err := Find(claim)
		if why := e.hidden(c); err == nil && why != "" {
			hidden[claim] = why
		}
	}
	return hidden
}

// Beside returns the claims that a run is judged by beside those that it asks, as far as
// there is something to judge, and the others, each with the reason. A bounded claim is
// only ever asked. The reasons given in not come before ours.
func (c Circumstances) Beside(asked []string, not map[string]string) (claims []string, unjudged map[string]string) {
	unjudged = map[string]string{}
	for _, e := range All {
		if why := e.unjudged(c); why != "" {
			unjudged[e.Claim.Name] = why
		}
	}
	maps.Copy(unjudged, not)
	maps.DeleteFunc(unjudged, func(claim, _ string) bool { return slices.Contains(asked, claim) })
	for _, e := range All {
		name := e.Claim.Name
		if _, excluded := unjudged[name]; !excluded && !e.Bounded && !e.Claim.Wire && slices.Contains(e.Protocols, c.Protocol) && !slices.Contains(asked, name) && e.shows(c) {
			claims = append(claims, name)
		}
	}
	return claims, unjudged
}

// unjudged returns why nobody is judged by a claim that is not asked, or "".
func (e Entry) unjudged(c Circumstances) string {
	for _, fault := range c.Faults {
		if why := e.Excused[fault.Type]; why != "" {
			return why
		}
	}
	if e.ByPackets != "" && !c.Wire {
		return e.ByPackets
	}
	if e.Unjudged != nil {
		return e.Unjudged(c)
	}
	return ""
}

// Excuses reports whether it is for the faults that a claim is not judged unless it is asked.
func (c Circumstances) Excuses(e Entry) bool {
	whatever := c
	whatever.Faults = []history.PlannedFault{{}}
	return e.unjudged(c) != e.unjudged(whatever)
}

// ByHand returns those of a workload's claims that can be judged of it alone, whatever
// faults are injected meanwhile: order across those few promise.
func (c Circumstances) ByHand(claims []string) []string {
	return slices.DeleteFunc(c.Shown(claims), func(claim string) bool {
		e, err := Find(claim)
		return err != nil || e.Bounded || !slices.Contains(e.Protocols, c.Protocol) ||
			e.Rests == history.PromiseOrder && !slices.Contains(c.Promises, claim)
	})
}

// Explored returns the claims of a cluster that is explored by hand, without those of the
// workloads that run on it.
func (c Circumstances) Explored() (claims []string) {
	for _, e := range All {
		if e.ByHand && e.shows(c) {
			claims = append(claims, e.Claim.Name)
		}
	}
	return claims
}

// oneCopy says that a loss is no failure where a fault takes the one copy of the data, or
// most of the copies at once.
func oneCopy(c Circumstances) string {
	takes := func(targets ...string) bool {
		return slices.ContainsFunc(c.Faults, func(f history.PlannedFault) bool {
			return slices.Contains([]string{"lost_disk", "bit_rot", "replace_node"}, f.Type) && (len(targets) == 0 || slices.Contains(targets, f.Target))
		})
	}
	switch {
	case c.Nodes < 3 && takes():
		return "the fault takes the one copy of the data"
	case takes("all", "majority"):
		return "the fault takes most copies of the data at once"
	}
	return ""
}

// unbounded says that an end cannot be late where nobody says how late it may come.
func unbounded(c Circumstances) string {
	if c.ExpiryS <= 0 {
		return "the scenario does not say how late an end may come (expiry_s)"
	}
	return ""
}

// unseen says that a library does not show the session.
func unseen(c Circumstances) string {
	if slices.Contains(c.Cannot, contract.CannotSessionPresent) {
		return "the client library does not show whether there was a session"
	}
	return ""
}

// firstOf returns the first reason of several.
func firstOf(reasons ...func(Circumstances) string) func(Circumstances) string {
	return func(c Circumstances) string {
		for _, reason := range reasons {
			if why := reason(c); why != "" {
				return why
			}
		}
		return ""
	}
}

// withholding are the faults that keep a packet from its receiver although its connection
// goes on.
var withholding = []string{"packet_drop", "packet_delay", "packet_mutate", "packet_truncate", "half_open"}

// excused is one reason under several types of faults.
func excused(why string, faults ...string) map[string]string {
	out := map[string]string{}
	for _, f := range faults {
		out[f] = why
	}
	return out
}
