package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/reports"
)

// LandingView is what proved each fault; or one fault whole, with every
// sample.
type LandingView struct {
	List []LandingLine    `json:"list"`
	One  *history.Landing `json:"one,omitempty"`
}

// A LandingLine is one fault and its proofs, without their samples. Times are
// seconds since the start of the run; 0 is not yet.
type LandingLine struct {
	FaultLine
	Mechanism string         `json:"mechanism"`
	Params    map[string]any `json:"params"`
	Down      []string       `json:"down,omitempty"` // nodes that did not come back from it
	AppliedS  float64        `json:"applied_s"`
	HealedS   float64        `json:"healed_s"`
	Proofs    []ProofLine    `json:"proofs"`
}

// A ProofLine is one proof: what its first and last sample of each moment read.
type ProofLine struct {
	Role   history.Role `json:"role"`
	Name   string       `json:"name"`
	Want   string       `json:"want"`
	Before string       `json:"before"`
	During string       `json:"during"`
	After  string       `json:"after,omitempty"`
	Holds  bool         `json:"holds"`
	Why    string       `json:"why,omitempty"` // where it does not hold
}

// landings reads what proved each fault. One that is named is whole.
func landings(dir, fault string) (*LandingView, error) {
	list, err := readLandings(dir)
	if err != nil {
		return nil, err
	}
	view := &LandingView{List: []LandingLine{}}
	for i, l := range list {
		if l.Fault == fault {
			list[i].Healed = l.Heal()
			return &LandingView{List: []LandingLine{}, One: &list[i]}, nil
		}
		view.List = append(view.List, landingLine(l))
	}
	if fault != "" {
		return nil, fmt.Errorf("get_run: no fault %q in run %s; get_run with view landings and without \"at\" lists them", fault, runID(dir))
	}
	return view, nil
}

// readLandings answers none where nothing was injected yet.
func readLandings(dir string) ([]history.Landing, error) {
	list, err := reports.Dir(dir).Landings()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return list, err
}

func landingLine(l history.Landing) LandingLine {
	line := LandingLine{
		FaultLine: FaultLine{l.Fault, l.Type, l.Target, l.Nodes, l.State, l.Heal(), brief(l.Reasons)},
		Mechanism: l.Mechanism, Params: l.Params,
		AppliedS: float64(l.Times.StartNS()) / 1e9, HealedS: float64(l.Times.HealedNS) / 1e9,
	}
	for node := range l.Down {
		line.Down = append(line.Down, node)
	}
	slices.Sort(line.Down)
	for _, p := range l.Proofs {
		if p.Role == history.RoleHeal && len(p.Samples) == 0 { // not healed yet
			continue
		}
		proof := ProofLine{Role: p.Role, Name: p.Name, Want: strings.TrimSpace(string(p.Want) + " " + p.Expect),
			Before: readings(p, history.Before), During: readings(p, history.During), After: readings(p, history.After), Holds: p.Holds}
		if !p.Holds {
			proof.Why = plain.CutBytes(p.Why, briefly)
		}
		line.Proofs = append(line.Proofs, proof)
	}
	return line
}

// readings are the first and the last sample of a moment, and how many there
// were.
func readings(p history.ProofRecord, m history.Moment) string {
	var texts []string
	for _, s := range p.Samples {
		if s.Moment == m {
			texts = append(texts, reading(s, p.Unit))
		}
	}
	if len(texts) == 0 {
		return ""
	}
	first, last := texts[0], texts[len(texts)-1]
	if n := len(texts); n > 1 && first == last {
		return fmt.Sprintf("%s (%d samples)", first, n)
	} else if n > 1 {
		return fmt.Sprintf("%s … %s (%d samples)", first, last, n)
	}
	return first
}

func reading(s history.Sample, unit string) string {
	switch {
	case s.Error != "":
		return plain.CutBytes(s.Error, 120)
	case !s.OK:
		return "failed"
	case s.State != "":
		return s.State
	}
	return strings.TrimSpace(fmt.Sprintf("%.4g %s", s.Value, unit))
}
