package verdict

import "github.com/robustmq/rmq-mcp/history"

// DecideHeal says whether nothing is left of an injection, from what was read back
// after it. A heal that the engine called verified is not where the last reading
// of anything says otherwise; the sentences are what those read. What the engine
// could not verify stays so.
func DecideHeal(l history.Landing) (history.HealState, []string) {
	if l.Healed != history.HealVerified {
		return l.Healed, l.Reasons
	}
	var left []string
	for _, p := range l.Proofs {
		if p.Role != history.RoleHeal {
			continue
		}
		if r, why := read(p); r == refuted {
			left = append(left, why)
		}
	}
	if len(left) > 0 {
		return history.HealFailed, left
	}
	return history.HealVerified, nil
}
