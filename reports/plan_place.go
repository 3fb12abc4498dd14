package reports

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// PlansFile is a run's places in frozen plans. They follow from its record and
// from what was frozen before it, so it is no part of the evidence.
const PlansFile = "plans.json"

// A PlanPlace says which scenario of a frozen plan a run is an attempt of.
type PlanPlace struct {
	Plan   string `json:"plan"`
	SHA256 string `json:"sha256"`   // of the plan
	Item   string `json:"scenario"` // its id there
}

// WritePlans writes a run's places, before it is judged. None is no file.
func WritePlans(dir string, places []PlanPlace) error {
	if len(places) == 0 {
		return nil
	}
	return WriteJSON(filepath.Join(dir, PlansFile), places)
}

// Plans are the places of a run in plans; nil if it is in none.
func (d Dir) Plans() (places []PlanPlace, err error) {
	err = stored.ReadJSON(d.File(PlansFile), &places)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return places, err
}
