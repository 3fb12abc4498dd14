package verdict

import (
	"slices"

	"github.com/robustmq/rmq-mcp/history"
)

// DecideLanding decides from the samples of an injection's proofs, and nothing else,
// whether it had effect. It returns the state, sentences that name the deciding proofs,
// and the proofs with Holds and Why filled in. An injection that the engine called
// unsupported stays so.
func DecideLanding(l history.Landing) (history.LandingState, []string, []history.ProofRecord) {
	proofs := slices.Clone(l.Proofs)
	roles := map[history.Role]*tally{
		history.RoleMechanism: {}, history.RoleEffect: {}, history.RoleControl: {},
	}
	means := byNode{}
	for i := range proofs {
		r, why := read(proofs[i])
		proofs[i].Holds, proofs[i].Why = r == held, why
		switch t := roles[proofs[i].Role]; {
		case t == nil || unsampled(proofs[i]):
		case proofs[i].Role == history.RoleMechanism:
			means.add(proofs[i].Node, r, why)
		default:
			t.add(r, why)
		}
	}
	means.tell(roles[history.RoleMechanism])
	if l.State == history.Unsupported {
		return history.Unsupported, l.Reasons, proofs
	}
	if l.State == history.NotLanded && len(l.Proofs) == 0 { // it was not begun
		return history.NotLanded, l.Reasons, proofs
	}
	state, reasons := settle(roles[history.RoleMechanism], roles[history.RoleEffect], roles[history.RoleControl])
	if l.HealedFor != "" {
		reasons = append(reasons, healedEarly(l))
	}
	return state, reasons, proofs
}

// unsampled reports whether a control was not read, because another fault acted on its
// node. It then speaks neither for nor against the landing; there is always the
// witness.
func unsampled(p history.ProofRecord) bool {
	return p.Role == history.RoleControl && (len(at(p, history.Before)) == 0 || len(at(p, history.During)) == 0)
}

func settle(mechanism, effect, control *tally) (history.LandingState, []string) {
	switch {
	case mechanism.all(refuted):
		return history.NotLanded, mechanism.why[refuted]
	case effect.all(refuted):
		return history.NotLanded, effect.why[refuted]
	case control.n == 0:
		return history.Indeterminate, []string{"no control was sampled"}
	case !control.all(held):
		why := append(slices.Clone(control.why[refuted]), control.why[unreadable]...)
		return history.Indeterminate, append(why, "a control was disturbed: something else happened at the same time")
	case mechanism.split():
		return history.Partial, mechanism.why[refuted]
	case effect.split():
		return history.Partial, effect.why[refuted]
	case mechanism.all(held) && effect.all(held):
		return history.Landed, nil
	}
	return history.Indeterminate, append(missing("mechanism", mechanism), missing("effect", effect)...)
}

// missing says what keeps the proofs of a role from showing that all of its
// nodes were hit.
func missing(role string, t *tally) []string {
	if t.n == 0 {
		return []string{"no " + role + " proof was taken"}
	}
	return t.why[unreadable]
}

// byNode has the readings of the mechanism's proofs, by node. All proofs of one node
// must hold: a limit in place that the kernel never counted hit nothing, and the
// slowness of that node has another cause. A proof without a node stands for itself.
type byNode []*finding

type finding struct {
	node    string
	reading reading
	why     string
}

func (b *byNode) add(node string, r reading, why string) {
	at := slices.IndexFunc(*b, func(f *finding) bool { return node != "" && f.node == node })
	switch {
	case at < 0:
		*b = append(*b, &finding{node, r, why})
	case (*b)[at].reading == held || r == refuted && (*b)[at].reading != refuted:
		(*b)[at].reading, (*b)[at].why = r, why
	}
}

func (b byNode) tell(t *tally) {
	for _, f := range b {
		t.add(f.reading, f.why)
	}
}

// A tally counts the proofs of one role by what they say.
type tally struct {
	n   int
	why [3][]string
}

func (t *tally) add(r reading, why string) {
	t.n++
	t.why[r] = append(t.why[r], why)
}

func (t *tally) any(r reading) bool { return len(t.why[r]) > 0 }
func (t *tally) all(r reading) bool { return t.n > 0 && len(t.why[r]) == t.n }
func (t *tally) split() bool        { return t.any(held) && t.any(refuted) }
