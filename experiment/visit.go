package experiment

import (
	"context"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
)

// steady goes on with the load for a time, in which the visiting subscribers
// come and go. It reports whether it ran to the end without a stop. A
// subscriber that is away in the end comes back for the drain.
func (s *session) steady(ctx context.Context, lasts, stay time.Duration) bool {
	visitors := s.plan.groups[history.GroupVisiting]
	if len(visitors) == 0 || stay <= 0 {
		return hold(ctx, lasts)
	}
	err := visits(ctx, lasts, stay/time.Duration(len(visitors)), visitors, s.subs.Do)
	if err != nil {
		s.load.harness("visitors of %s: %v", s.name, err)
	}
	return ctx.Err() == nil
}

// visits has visitors leave and come back for a time, one at each interval: all
// leave, one after the other, then all come back, and so on. One that is not told
// ends the visits, not the time.
func visits(ctx context.Context, lasts, every time.Duration, visitors []int32, tell func(contract.Command) error) error {
	began := time.Now()
	over := began.Add(lasts)
	for turn := 0; ; turn++ {
		next := began.Add(time.Duration(turn+1) * every) // so that what telling takes does not add up
		if next.After(over) {
			hold(ctx, time.Until(over))
			return nil
		}
		if !hold(ctx, time.Until(next)) {
			return nil
		}
		do := "disconnect"
		if turn/len(visitors)%2 == 1 {
			do = "connect"
		}
		if err := tell(contract.Command{Do: do, Process: visitors[turn%len(visitors)]}); err != nil {
			hold(ctx, time.Until(over))
			return fmt.Errorf("%s process %d: %w", do, visitors[turn%len(visitors)], err)
		}
	}
}
