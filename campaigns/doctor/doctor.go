// Package doctor injects faults for real, on a live cluster with clients, and shows their proofs.
package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/attempt"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
)

// A Row is what injecting one type of fault for real showed.
type Row struct {
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

// Options say what is injected.
type Options struct {
	Flavors   []string // of clusters; each but the first is for faults that have not landed before
	Runtime   string   // of their nodes; "" for processes
	Arm       []string // beside what the faults need
	Only      []string // types and families of faults; nil for all
	UpgradeTo string   // another build of the broker, for upgrades; "" for none
}

// kinds are the types asked for.
func (o Options) kinds() ([]faults.Kind, error) {
	all := faults.Catalog()
	if len(o.Only) == 0 {
		return all, nil
	}
	var chosen []faults.Kind
	for _, name := range o.Only {
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

// Inject injects every kind on a live cluster of each flavor. Tell gets each row as soon as it is
// known. A kind that landed and healed on one flavor is not tried on the next one.
func (o Options) Inject(ctx context.Context, runner attempt.Runner, tell func(Row)) ([]Row, error) {
	kinds, err := o.kinds()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, flavor := range o.Flavors {
		open := slices.DeleteFunc(slices.Clone(kinds), func(k faults.Kind) bool { return Proved(rows, k.Type) })
		if len(open) == 0 {
			break
		}
		live, err := startLive(ctx, runner, cluster.Config{Flavor: flavor, Runtime: o.Runtime, Arm: o.Arm}, open)
		if err != nil {
			return rows, err
		}
		live.upgradeTo = o.UpgradeTo
		more, err := live.check(ctx, open, tell)
		rows = append(rows, more...)
		if err := errors.Join(err, live.stop(ctx)); err != nil {
			return rows, err
		}
	}
	return rows, nil
}

// Proved reports whether a type landed and was healed.
func Proved(rows []Row, typ string) bool {
	return slices.ContainsFunc(rows, func(r Row) bool { return r.Type == typ && r.Landing == history.Landed && r.OK })
}

// take takes the landing of an injection of a kind into the row.
func (r *Row) take(k faults.Kind, l history.Landing) {
	r.Nodes, r.Mechanism, r.Landing, r.Healed = l.Nodes, l.Mechanism, l.State, l.Heal()
	r.Reasons = l.Reasons
	r.Signals = map[string][]string{}
	for _, p := range l.Proofs {
		r.Signals[string(p.Role)] = append(r.Signals[string(p.Role)], p.Why)
	}
	if t := l.Times; t.EffectNS > t.ApplyNS {
		r.EffectMS = float64(t.EffectNS-t.ApplyNS) / 1e6
	}
	unmet := slices.ContainsFunc(l.Proofs, func(p history.ProofRecord) bool { return p.Role == history.RoleMechanism && !p.Holds })
	unasked := l.State == history.NotLanded && k.Example.Unsure && !unmet
	expected := l.State == history.Landed || l.State == history.Unsupported || unasked
	r.OK = l.Healed == history.HealVerified && expected
}

// Failed returns the types that did not land or were not healed. Types that this host cannot have are
// not among them.
func Failed(rows []Row) []string {
	var failed []string
	for _, r := range rows {
		if !r.OK && !slices.Contains(failed, r.Type) {
			failed = append(failed, r.Type)
		}
	}
	return failed
}

// Summary is the last line: how many landed, and what did not.
func Summary(rows []Row) string {
	landed := 0
	var cannot, unasked []string
	for _, r := range rows {
		if Proved(rows, r.Type) {
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
		text += "; not landed, as the broker did not ask for what they take: " + strings.Join(slices.Compact(unasked), ", ")
	}
	if failed := Failed(rows); len(failed) > 0 {
		text += "; failed: " + strings.Join(failed, ", ")
	}
	return text
}
