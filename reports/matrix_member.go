package reports

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A Membership is a run's place in a matrix: what the same did with other SDKs,
// and what this run's deviations come from. It is decided over several runs, so
// it is no part of the evidence of this one: matrix.json in the run directory.
type Membership struct {
	Matrix       string        `json:"matrix_id"`
	Headline     string        `json:"headline"`
	Peers        []Peer        `json:"peers"` // of the same scenario, protocol and broker, this run among them
	Attributions []Attribution `json:"attributions"`
}

// A Peer is the same with another SDK.
type Peer struct {
	SDK   string        `json:"sdk"`
	State verdict.State `json:"state"`
	RunID string        `json:"run_id,omitempty"`
	This  bool          `json:"this,omitempty"`
}

// JoinMatrix writes a run's place in a matrix into its report. A run that is in
// none of its cells stays as it is.
func JoinMatrix(dir string, m Matrix) error {
	run := filepath.Base(dir)
	at := slices.IndexFunc(m.Cells, func(c MatrixCell) bool { return c.RunID == run })
	if at < 0 {
		return nil
	}
	member := Membership{Matrix: m.ID, Headline: m.Headline, Peers: []Peer{}, Attributions: []Attribution{}}
	own := m.Cells[at]
	for _, c := range m.Cells {
		if c.Scenario == own.Scenario && c.Protocol == own.Protocol && c.Transport == own.Transport && c.Flavor == own.Flavor && c.NoFaults == own.NoFaults {
			member.Peers = append(member.Peers, Peer{c.SDK, c.State, c.RunID, c.RunID == run})
		}
	}
	for _, a := range m.Attributions {
		if slices.Contains(a.Runs, run) {
			member.Attributions = append(member.Attributions, a)
		}
	}
	return join(dir, MatrixFile, member)
}

// join puts what was decided over several runs beside one of them, and into its
// report.
func join(dir, file string, decided any) error {
	d, err := Open(dir)
	if err != nil {
		return err
	}
	v, found, err := d.rejudge()
	if err != nil {
		return err
	}
	if err := WriteJSON(filepath.Join(dir, file), decided); err != nil {
		return fmt.Errorf("write %s of %s: %w", file, dir, err)
	}
	_, err = d.render(v, found)
	return err
}

// decidedIn reads what [join] wrote, nil where nothing was.
func decidedIn[T any](d Dir, file string) (*T, error) {
	var decided T
	err := stored.ReadJSON(d.File(file), &decided)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return &decided, err
}
