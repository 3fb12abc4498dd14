package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
)

// A FaultRow is what injecting one type of fault for real showed.
type FaultRow struct {
	Type      string               `json:"type"`
	Family    string               `json:"family"`
	Flavor    string               `json:"flavor"`
	Target    string               `json:"target"`
	Nodes     []string             `json:"nodes,omitempty"`
	Params    map[string]any       `json:"params"`
	Mechanism string               `json:"mechanism"`
	Signals   map[string][]string  `json:"signals"` // what the proofs of each role showed
	Landing   history.LandingState `json:"landing"`
	Healed    history.HealState    `json:"healed"`              // [history.Landing.Heal]
	EffectMS  float64              `json:"effect_ms,omitempty"` // from the start of applying it to the first reading in which all proofs held
	Reasons   []string             `json:"reasons,omitempty"`
	Disturbed [][]string           `json:"disturbed,omitempty"` // why nothing could be said of earlier injections of it, each
	OK        bool                 `json:"ok"`                  // landed and healed, cannot be done here, or took what the broker did not ask for
}

// faultCheck are the flags of `doctor --faults`.
type faultCheck struct {
	flavors          []string
	only             []string
	upgradeTo        string // another build of the broker
	asJSON, markdown bool
}

// kinds are the types asked for.
func (f faultCheck) kinds() ([]faults.Kind, error) {
	all := faults.Catalog()
	if len(f.only) == 0 {
		return all, nil
	}
	var chosen []faults.Kind
	for _, name := range f.only {
		i := slices.IndexFunc(all, func(k faults.Kind) bool { return k.Type == name || k.Family == name })
		if i < 0 {
			_, err := faults.Parse(name, nil)
			return nil, fmt.Errorf("doctor: --only: %w; or a family of them", err)
		}
		for _, k := range all {
			if k.Type == name || k.Family == name {
				chosen = append(chosen, k)
			}
		}
	}
	return chosen, nil
}

// checkFaults injects every kind on a live cluster of each flavor, and tells
// each row as soon as it is known. A kind that landed and healed on one flavor
// is not tried on the next one.
func (a *app) checkFaults(ctx context.Context, f faultCheck, tell func(FaultRow)) ([]FaultRow, error) {
	dir, err := a.state()
	if err != nil {
		return nil, err
	}
	kinds, err := f.kinds()
	if err != nil {
		return nil, err
	}
	var rows []FaultRow
	for _, flavor := range f.flavors {
		open := slices.DeleteFunc(slices.Clone(kinds), func(k faults.Kind) bool { return proved(rows, k.Type) })
		if len(open) == 0 {
			break
		}
		live, err := startLive(ctx, dir, flavor, open)
		if err != nil {
			return rows, err
		}
		live.upgradeTo = f.upgradeTo
		more, err := live.check(ctx, open, tell)
		rows = append(rows, more...)
		if err := errors.Join(err, live.stop(ctx)); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

func proved(rows []FaultRow, typ string) bool {
	return slices.ContainsFunc(rows, func(r FaultRow) bool { return r.Type == typ && r.Landing == history.Landed && r.OK })
}

// take takes the landing of an injection of a kind into the row.
func (r *FaultRow) take(k faults.Kind, l history.Landing) {
	r.Nodes, r.Mechanism, r.Landing, r.Healed = l.Nodes, l.Mechanism, l.State, l.Heal()
	r.Reasons = l.Reasons
	r.Signals = map[string][]string{}
	for _, p := range l.Proofs {
		r.Signals[string(p.Role)] = append(r.Signals[string(p.Role)], p.Why)
	}
	if t := l.Times; t.EffectNS > t.ApplyNS {
		r.EffectMS = float64(t.EffectNS-t.ApplyNS) / 1e6
	}
	expected := l.State == history.Landed || l.State == history.Unsupported || l.State == history.NotLanded && k.Example.Unsure
	r.OK = l.Healed == history.HealVerified && expected
}

// failedFaults are the types that this host has and that did not land, or
// were not healed.
func failedFaults(rows []FaultRow) []string {
	var failed []string
	for _, r := range rows {
		if !r.OK && !slices.Contains(failed, r.Type) {
			failed = append(failed, r.Type)
		}
	}
	return failed
}

// summaryOf is the last line: how many landed, and what did not.
func summaryOf(rows []FaultRow) string {
	landed := 0
	var cannot, unasked []string
	for _, r := range rows {
		if proved(rows, r.Type) {
			if r.Landing == history.Landed {
				landed++
			}
		} else if r.OK && r.Landing == history.NotLanded {
			unasked = append(unasked, r.Type)
		} else if r.OK {
			cannot = append(cannot, r.Type)
		}
	}
	text := fmt.Sprintf("%d types landed and were healed", landed)
	if landed == 1 {
		text = "1 type landed and was healed"
	}
	if len(cannot) > 0 {
		text += "; cannot be done here: " + strings.Join(cannot, ", ")
	}
	if len(unasked) > 0 {
		text += "; not landed, as the broker did not ask for what they take: " + strings.Join(unasked, ", ")
	}
	if failed := failedFaults(rows); len(failed) > 0 {
		text += "; failed: " + strings.Join(failed, ", ")
	}
	return text
}
