package verdict

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

// A check of a link that another fault kept from being read is verified by the heal of that one.
func TestALinkThatWasNotRead(t *testing.T) {
	check := func(name string, at int64, state string) history.ProofRecord {
		return history.ProofRecord{Name: name, Role: history.RoleHeal, Want: history.WantBack, Samples: []history.Sample{{Moment: history.After, TimeNS: at, OK: true, State: state}}}
	}
	for name, test := range map[string]struct {
		other history.ProofRecord
		want  history.HealState
	}{
		"read later":        {check("rate from node-1 to node-2", 9, ""), history.HealVerified},
		"read before":       {check("probes from node-1 to node-2", 2, ""), history.HealPending},
		"not read either":   {check("probes from node-1 to node-2", 9, history.UnreadLink), history.HealPending},
		"another way of it": {check("probes from node-2 to node-1", 9, ""), history.HealPending},
		"not a link at all": {check("rule in the router", 9, ""), history.HealPending},
	} {
		landings := []history.Landing{
			{Fault: "f1", Healed: history.HealVerified, Proofs: []history.ProofRecord{killed, refused, still, check("probes from node-1 to node-2", 5, history.UnreadLink)}},
			{Fault: "f2", Healed: history.HealVerified, Proofs: []history.ProofRecord{killed, refused, still, test.other}},
		}
		decided, _ := DecideLandings(&history.Run{}, landings)
		if got := decided[0].Healed; got != test.want || got == history.HealPending && !strings.Contains(strings.Join(decided[0].Reasons, " "), "probes from node-1 to node-2") {
			t.Errorf("%s: %s, want %s: %q", name, got, test.want, decided[0].Reasons)
		}
	}
}

func TestDecideHeal(t *testing.T) {
	back := func(words string) history.ProofRecord {
		p := history.ProofRecord{Name: "rule in the router", Role: history.RoleHeal, Want: history.WantBack}
		for _, word := range strings.Fields(words) {
			p.Samples = append(p.Samples, sample(history.After, word))
		}
		return p
	}
	for _, test := range []struct {
		name   string
		said   history.HealState
		proofs []history.ProofRecord
		want   history.HealState
	}{
		{"all is back", history.HealVerified, []history.ProofRecord{back("ok"), back("=elsewhere")}, history.HealVerified},
		{"back at last", history.HealVerified, []history.ProofRecord{back("no ok")}, history.HealVerified},
		{"one is not", history.HealVerified, []history.ProofRecord{back("ok"), back("ok no")}, history.HealFailed},
		{"an older run, or nothing was done", history.HealVerified, []history.ProofRecord{back(""), killed}, history.HealVerified},
		{"down stays down", history.HealDown, []history.ProofRecord{back("ok")}, history.HealDown},
		{"failed stays failed", history.HealFailed, []history.ProofRecord{back("ok")}, history.HealFailed},
		{"pending stays pending", history.HealPending, nil, history.HealPending},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := history.Landing{Healed: test.said, Proofs: append([]history.ProofRecord{killed, refused, still}, test.proofs...)}
			got, why := DecideHeal(l)
			if got != test.want {
				t.Errorf("%s, because %q", got, why)
			}
			if state, why, _ := DecideLanding(l); state != history.Landed {
				t.Errorf("what is read after the heal changed the landing: %s, because %q", state, why)
			}
			if got != test.said && (len(why) != 1 || !strings.Contains(why[0], "refused")) {
				t.Errorf("the reasons: %q", why)
			}
		})
	}
}
