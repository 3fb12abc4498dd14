package verdict

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
)

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
