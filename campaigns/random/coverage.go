package random

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/scenarios"
)

// A Cell is one thing that a run can try: a fault, on a role, in a phase, under a
// workload, with a library.
type Cell struct {
	Fault    string `json:"fault"`
	Role     string `json:"role"` // as asked: leader, publishers
	Phase    string `json:"phase"`
	Workload string `json:"workload"` // [Shape]
	SDK      string `json:"sdk"`
}

// Phases that a fault can begin in.
const (
	PhaseSteady   = "steady"   // nothing was done before it
	PhaseFault    = "fault"    // another one is in place
	PhaseRecovery = "recovery" // others were healed
)

// Planned are the cells that a scenario's schedule would cover, if all of it
// landed.
func Planned(s *scenarios.Scenario) (list []Cell) {
	for i := range s.Schedule {
		list = append(list, planned(s, i))
	}
	return list
}

func planned(s *scenarios.Scenario, i int) Cell {
	step := s.Schedule[i]
	c := Cell{Fault: step.Fault, Role: step.Target, Phase: PhaseSteady, Workload: Shape(s.Workload), SDK: s.SDK}
	for j, other := range s.Schedule {
		switch end := other.AtS + other.DurationS; {
		case j == i || other.AtS > step.AtS:
		case end > step.AtS:
			c.Phase = PhaseFault
		case c.Phase == PhaseSteady:
			c.Phase = PhaseRecovery
		}
	}
	return c
}

// Recorded are the cells that a run of a scenario did cover, by its landings as the
// verdict takes them, and those of its schedule that it missed.
func Recorded(s *scenarios.Scenario, sdk string, landings []history.Landing) (landed, missed []Cell) {
	missed = Planned(s)
	for i := range missed {
		missed[i].SDK = sdk
	}
	for i, l := range landings {
		if l.State != history.Landed {
			continue
		}
		c := Cell{Fault: l.Type, Role: l.Target, Phase: PhaseSteady, Workload: Shape(s.Workload), SDK: sdk}
		for j, other := range landings {
			switch start, end := l.Times.StartNS(), other.Times.HealedNS; {
			case j == i || other.Times.StartNS() == 0 || other.Times.StartNS() > start:
			case end == 0 || end > start:
				c.Phase = PhaseFault
			case c.Phase == PhaseSteady:
				c.Phase = PhaseRecovery
			}
		}
		landed = append(landed, c)
		for k, m := range missed {
			if m.Fault == c.Fault && m.Role == c.Role {
				missed = append(missed[:k:k], missed[k+1:]...)
				break
			}
		}
	}
	return landed, missed
}

// A Coverage is what has been tried until now.
type Coverage struct {
	landed, missed map[string]int // by each view of a cell
}

// Add counts a run's cells. A missed cell was tried in vain: it is not covered,
// but promises less than before.
func (c *Coverage) Add(landed, missed []Cell) {
	if c.landed == nil {
		c.landed, c.missed = map[string]int{}, map[string]int{}
	}
	for _, cell := range landed {
		for _, v := range cell.views() {
			c.landed[v]++
		}
	}
	for _, cell := range missed {
		for _, v := range cell.views() {
			c.missed[v]++
		}
	}
}

// views are a cell whole, and its fault alone and with each of the rest: of what
// has so many dimensions most is never tried, and pairs find most of what there
// is to find.
func (c Cell) views() []string {
	whole, err := json.Marshal(c)
	if err != nil {
		panic(err) // of strings
	}
	list := []string{c.Fault, string(whole)}
	for _, rest := range []string{"role " + c.Role, "phase " + c.Phase, "workload " + c.Workload, "sdk " + c.SDK} {
		list = append(list, strings.Join([]string{c.Fault, rest}, ", "))
	}
	return list
}

// Gain is how much of what is thin a scenario would cover in a second.
func (c *Coverage) Gain(s *scenarios.Scenario) float64 {
	var sum float64
	for _, cell := range Planned(s) {
		for _, v := range cell.views() {
			sum += 1 / float64((1+c.landed[v])*(1+c.missed[v]))
		}
	}
	return sum / s.ExpectedS(s.Tiers["smoke"])
}

// candidates are the seeds that are looked at for one run.
const candidates = 40

// Next returns the scenario of the n-th run of a campaign and its seed. It
// draws several scenarios and takes the one with the most [Coverage.Gain].
func (s Space) Next(campaign int64, n int, c *Coverage) (*scenarios.Scenario, int64, error) {
	if err := s.Check(); err != nil {
		return nil, 0, err
	}
	seeds := rand.New(rand.NewPCG(uint64(campaign), uint64(n)))
	best, most := int64(0), -1.0
	for range candidates {
		seed := seeds.Int64N(1<<31-1) + 1
		if gain := c.Gain(s.draw(seed)); gain > most {
			best, most = seed, gain
		}
	}
	one, err := s.Scenario(best)
	return one, best, err
}
