package plan

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

// A Missing is an attempt that was planned and not made.
type Missing struct {
	Item *Item
	Seed int64 // 0 for any
}

func (m Missing) String() string {
	text := fmt.Sprintf("%s %s on %s, tier %s", m.Item.ID, m.Item.Scenario, m.Item.Model.words(), m.Item.Model.Tier)
	if m.Seed != 0 {
		text += fmt.Sprintf(", seed %d", m.Seed)
	}
	return text
}

// Missing are the attempts not made by a status, in the order of the plan.
func (r *Record) Missing(s Status) (list []Missing) {
	for i := range r.Items {
		for _, seed := range s.Items[i].Missing {
			list = append(list, Missing{&r.Items[i], seed})
		}
	}
	return list
}

// Used is how much of a budget is used.
type Used struct {
	Runs int
	Time time.Duration
}

// Used is what the attempts of a status took.
func (r *Record) Used(s Status) (u Used) {
	for _, it := range s.Items {
		for _, a := range it.Attempts {
			u.Add(time.Duration(a.DurationS * float64(time.Second)))
		}
	}
	return u
}

// Add counts a run.
func (u *Used) Add(took time.Duration) { u.Runs, u.Time = u.Runs+1, u.Time+took }

// Over says what of a budget one more attempt would exceed, "" for nothing.
func (u *Used) Over(b Budget, next Missing) string {
	switch expected := next.Item.expectedS(); {
	case u.Runs >= b.Runs:
		return fmt.Sprintf("%d runs of %d", u.Runs, b.Runs)
	case u.Time.Seconds()+expected > b.TimeS:
		return fmt.Sprintf("%.0f s of %.0f s, and %s is expected to take %.0f s", u.Time.Seconds(), b.TimeS, next.Item.ID, expected)
	}
	return ""
}

// Lock keeps any other process from running the plan until it is unlocked.
func (r *Record) Lock(stateDir string) (unlock func() error, err error) {
	lock := flock.New(filepath.Join(stateDir, plansDir, r.Hash[:12]+".lock"))
	switch mine, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock plan %s: %w", r.Plan.Name, err)
	case !mine:
		return nil, fmt.Errorf("plan %s is being run by another process; wait for its end", r.Plan.Name)
	}
	return lock.Unlock, nil
}

// Scenario returns the scenario to run for an item. This is the library's
// scenario if it still has the frozen text. Otherwise it is a file with the
// frozen text.
func (r *Record) Scenario(stateDir string, it *Item) (string, error) {
	if s, err := SiteOf("", nil).Load(it.Scenario); err == nil && s.SHA == it.SHA {
		return it.Scenario, nil
	}
	dir := filepath.Join(stateDir, plansDir, r.Hash[:12]+"-"+it.ID)
	file := filepath.Join(dir, path.Base(it.Scenario)+".md")
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = os.WriteFile(file, []byte(it.Text), 0o644)
	}
	if err != nil {
		return "", fmt.Errorf("write the frozen text of %s: %w", it.Scenario, err)
	}
	return file, nil
}
