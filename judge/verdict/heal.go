package verdict

import "github.com/robustmq/rmq-mcp/history"

// DecideHeal decides from the readings after a heal whether anything is left of the
// injection. A heal that the engine called verified has failed if the last reading of
// any proof says otherwise; the sentences are those readings. Any other state stays as
// the engine gave it.
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
