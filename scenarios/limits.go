package scenarios

import (
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// Within refuses a schedule with a fault that an envelope does not allow, as a
// tier has it, or with more of them than it allows together.
func (s *Scenario) Within(limits envelope.Envelope, t Tier) error {
	total := time.Duration(0)
	for i, step := range s.Schedule {
		ask := envelope.Fault{
			Type: step.Fault, Targets: faults.Sides(step.Target),
			Duration: time.Duration(t.duration(step) * float64(time.Second)), Params: step.Params,
		}
		if req, err := faults.Parse(step.Fault, step.Params); err == nil && step.Params["duration_s"] != nil {
			ask.Duration = req.Duration
		}
		if err := limits.Fault(ask); err != nil {
			return fmt.Errorf("scenario %s, schedule step %d: %w", s.Name, i+1, err)
		}
		total += ask.Duration
		if err := limits.Together(total); err != nil {
			return fmt.Errorf("scenario %s, up to schedule step %d: %w", s.Name, i+1, err)
		}
	}
	return nil
}
