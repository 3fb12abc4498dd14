package verdict

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// A proof of two samples before and two during, written as what each showed: "ok", "no" (the
// probe failed), "ours" (it failed for want of something here), "=exited" (a state) or a number.
func proof(role history.Role, want history.Want, before, during string) history.ProofRecord {
	p := history.ProofRecord{Name: string(role), Role: role, Want: want, Expect: "exited", Margin: 10, Unit: "ms"}
	for _, half := range []struct {
		moment history.Moment
		text   string
	}{{history.Before, before}, {history.During, during}} {
		for _, word := range strings.Fields(half.text) {
			p.Samples = append(p.Samples, sample(half.moment, word))
		}
	}
	return p
}

func sample(m history.Moment, word string) history.Sample {
	s := history.Sample{Moment: m, OK: true}
	switch {
	case word == "ours":
		s.OK, s.Ours, s.Error = false, true, "too many open files"
	case word == "no":
		s.OK, s.Error = false, "refused"
	case strings.HasPrefix(word, "="):
		s.State = word[1:]
	case word != "ok":
		for _, digit := range word {
			s.Value = 10*s.Value + float64(digit-'0')
		}
	}
	return s
}

var (
	killed     = proof(history.RoleMechanism, history.WantState, "=running", "=exited =exited")
	alive      = proof(history.RoleMechanism, history.WantState, "=running", "=running =running")
	unread     = proof(history.RoleMechanism, history.WantState, "=running", "no")
	refused    = proof(history.RoleEffect, history.WantFails, "ok ok", "no no")
	starved    = proof(history.RoleEffect, history.WantFails, "ok ok", "ours ours")
	deafBefore = proof(history.RoleEffect, history.WantFails, "no", "no")
	serving    = proof(history.RoleEffect, history.WantFails, "ok ok", "ok ok")
	still      = proof(history.RoleControl, history.WantStill, "5 6", "5 9")
	taken      = proof(history.RoleControl, history.WantStill, "5 6", "")
	shaken     = proof(history.RoleControl, history.WantStill, "5 6", "no 5")
)

func of(node string, p history.ProofRecord) history.ProofRecord {
	p.Node = node
	return p
}

func TestProofs(t *testing.T) {
	for _, test := range []struct {
		name           string
		want           history.Want
		before, during string
		holds          bool
	}{
		{"state reached", history.WantState, "=running", "=exited", true},
		{"state there before", history.WantState, "=exited", "=exited", false},
		{"state not reached", history.WantState, "=running", "=running", false},
		{"state reversed", history.WantState, "=running", "=exited =running", false},
		{"state unreadable", history.WantState, "=running", "no", false},
		{"fails", history.WantFails, "ok", "no no", true},
		{"fails at times", history.WantFails, "ok", "no ok", false},
		{"failed before", history.WantFails, "no", "no", false},
		{"grows", history.WantGrows, "3", "3 4", true},
		{"stays", history.WantGrows, "3", "3 3", false},
		{"slower", history.WantSlower, "3 4 5", "14 15 16", true},
		{"slower once", history.WantSlower, "3 4 5", "36 4", false},
		{"slowed once", history.WantSlowed, "3 4 5", "36 4", true},
		{"never slowed", history.WantSlowed, "3 4 5", "13 12", false},
		{"slower at last", history.WantSlower, "3 4 5", "4 36", true},
		{"hardly slower", history.WantSlower, "3 4 5", "11 12 13", false},
		{"reaches", history.WantReaches, "30 3", "11 40", true},
		{"reaches at times", history.WantReaches, "3", "40 9", false},
		{"as slow before", history.WantReaches, "12 30", "14", false},
		{"still", history.WantStill, "5", "5 15", true},
		{"moved", history.WantStill, "5", "5 16", false},
		{"fell over", history.WantStill, "5", "no", false},
		{"fell over before", history.WantStill, "no", "5", false},
		{"not sampled before", history.WantFails, "", "no", false},
		{"not sampled during", history.WantFails, "ok", "", false},
		{"back, never read", history.WantBack, "ok", "ok", false},
		{"wants what nobody knows", "whatever", "ok", "ok", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, _, proofs := DecideLanding(history.Landing{Proofs: []history.ProofRecord{proof(history.RoleEffect, test.want, test.before, test.during)}})
			if p := proofs[0]; p.Holds != test.holds || p.Why == "" {
				t.Errorf("holds %v: %q", p.Holds, p.Why)
			}
		})
	}
}

func TestDecideLanding(t *testing.T) {
	for _, test := range []struct {
		name   string
		proofs []history.ProofRecord
		want   history.LandingState
		reason string
	}{
		{"both signals, control still", []history.ProofRecord{killed, refused, still}, history.Landed, ""},
		{"mechanism refuted", []history.ProofRecord{alive, refused, still}, history.NotLanded, "running"},
		{"a probe that this host could not make", []history.ProofRecord{killed, starved, still}, history.Indeterminate, "this host could not probe"},
		{"effect refuted", []history.ProofRecord{killed, serving, still}, history.NotLanded, "0 of 2 failed"},
		{"no effect proof", []history.ProofRecord{killed, still}, history.Indeterminate, "no effect proof"},
		{"no mechanism proof", []history.ProofRecord{refused, still}, history.Indeterminate, "no mechanism proof"},
		{"mechanism unreadable", []history.ProofRecord{unread, refused, still}, history.Indeterminate, "could not be read"},
		{"no control", []history.ProofRecord{killed, refused}, history.Indeterminate, "no control"},
		{"control disturbed", []history.ProofRecord{killed, refused, shaken}, history.Indeterminate, "something else happened"},
		{"one control of two disturbed", []history.ProofRecord{killed, refused, still, shaken}, history.Indeterminate, "something else"},
		{"one control of two taken by another fault", []history.ProofRecord{killed, refused, still, taken}, history.Landed, ""},
		{"no control but one taken by another fault", []history.ProofRecord{killed, refused, taken}, history.Indeterminate, "no control"},
		{"one node of two", []history.ProofRecord{killed, alive, refused, still}, history.Partial, "running"},
		{"the effect on one node of two", []history.ProofRecord{killed, refused, serving, still}, history.Partial, "0 of 2 failed"},
		{"a limit that nobody ran into, and a slow host", []history.ProofRecord{of("node-1", killed), of("node-1", alive), refused, still}, history.NotLanded, "running"},
		{"a limit that one of two nodes ran into", []history.ProofRecord{of("node-1", killed), of("node-1", killed), of("node-2", killed), of("node-2", alive), refused, still}, history.Partial, "running"},
		{"one node of two unreadable", []history.ProofRecord{killed, unread, refused, still}, history.Indeterminate, "could not be read"},
		{"the effect on one node of two unreadable", []history.ProofRecord{killed, killed, refused, deafBefore, still}, history.Indeterminate, "failed before"},
		{"nothing was sampled", nil, history.Indeterminate, "no control"},
	} {
		t.Run(test.name, func(t *testing.T) {
			state, reasons, _ := DecideLanding(history.Landing{Proofs: test.proofs})
			if state != test.want || !strings.Contains(strings.Join(reasons, "; "), test.reason) {
				t.Errorf("%s %v, want %s: %s", state, reasons, test.want, test.reason)
			}
		})
	}
	state, reasons, _ := DecideLanding(history.Landing{State: history.Unsupported, Reasons: []string{"not armed"}, Proofs: []history.ProofRecord{killed, refused, still}})
	if state != history.Unsupported || len(reasons) != 1 {
		t.Errorf("what is unsupported became %s %v", state, reasons)
	}
}

func TestDecideLandingLeavesItsInputAlone(t *testing.T) {
	l := history.Landing{Proofs: []history.ProofRecord{killed}}
	DecideLanding(l)
	if l.Proofs[0].Holds || l.Proofs[0].Why != "" {
		t.Errorf("%+v", l.Proofs[0])
	}
}
