// Package watch follows the releases of a broker. Each new one is a round: it goes through
// the same steps, and each decision is a line of a journal, by which a watch that was
// killed goes on.
package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/mod/semver"
)

// A Release is a version of the broker that can be run.
type Release struct {
	Version string `json:"version"`           // v0.4.12
	Binary  string `json:"binary,omitempty"`  // path of its program; "": it is unpacked or downloaded
	Archive string `json:"archive,omitempty"` // directory of its archive; "": the maker's address
	Notes   string `json:"notes,omitempty"`   // of its maker
	Repo    string `json:"repo,omitempty"`    // OWNER/REPO that it is of; "" for none
}

// A Source lists the releases that there are, in any order.
type Source interface {
	Releases(ctx context.Context) ([]Release, error)
}

// A Round is one release on its way through the steps.
type Round struct {
	ID      string    `json:"id"` // the version; v0.4.12-2 is its second round
	Why     string    `json:"why"`
	Seed    int64     `json:"seed"` // of all that is random in it
	Begun   time.Time `json:"begun"`
	Release Release   `json:"release"`
}

// A Step is a part of every round.
type Step struct {
	Name   string
	First  bool // without it no other is done
	Always bool // it is done, too, where the round's time is over
	// Do returns the outcome in words. It has until the end of ctx and goes on where it was
	// stopped. An error is one of the harness: a broker that fails is an outcome.
	Do func(ctx context.Context, r Round) (outcome string, err error)
}

// mostAttempts is how often a step is begun that fails each time.
const mostAttempts = 3

// A Watch takes new releases through its steps.
type Watch struct {
	Source  Source
	Steps   []Step
	Journal *Journal
	Budget  time.Duration // of the steps of a round together
	Again   time.Duration // after which the newest release has another round; 0 for never
	Tell    func(line string)
}

// Look asks once for new releases, and takes those through the steps that have rounds to
// end. At the first look the newest release is new, later each that was not listed before.
// Rounds that were begun go on where the releases cannot be listed; the error says so then.
func (w *Watch) Look(ctx context.Context) error {
	listed, err := w.Source.Releases(ctx)
	if err == nil {
		err = w.choose(listed)
	}
	for _, r := range w.Journal.Open() {
		if err := w.round(ctx, r); err != nil {
			return err
		}
	}
	return err
}

// Run looks again and again until ctx ends. It tells why a look failed, and goes on.
func (w *Watch) Run(ctx context.Context, every time.Duration) error {
	for {
		if err := w.Look(ctx); err != nil && ctx.Err() == nil {
			w.Tell(err.Error())
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(every):
		}
	}
}

// choose begins a round of each release that is new.
func (w *Watch) choose(listed []Release) error {
	listed = slices.DeleteFunc(slices.Clone(listed), func(r Release) bool { return !semver.IsValid(r.Version) })
	slices.SortFunc(listed, func(a, b Release) int { return semver.Compare(a.Version, b.Version) })
	fresh, why := slices.DeleteFunc(slices.Clone(listed), func(r Release) bool { return w.Journal.known[r.Version] }), "it is new"
	if len(listed) > 0 && len(w.Journal.known) == 0 {
		fresh, why = listed[len(listed)-1:], "it is the newest at the first look"
		if err := w.Journal.know(listed); err != nil {
			return err
		}
	}
	for _, r := range fresh {
		if err := w.begin(r, why); err != nil {
			return err
		}
	}
	if last := w.Journal.last(); w.Again > 0 && len(listed) > 0 && last != nil && !last.Ended.IsZero() && time.Since(last.Begun) >= w.Again {
		newest := listed[len(listed)-1]
		return w.begin(newest, fmt.Sprintf("the last round began %s ago", w.Again))
	}
	return nil
}

func (w *Watch) begin(release Release, why string) error {
	r := Round{ID: release.Version, Why: why, Begun: time.Now().UTC().Truncate(time.Second), Release: release}
	r.Seed = r.Begun.Unix()
	if n := w.Journal.roundsOf(release.Version); n > 0 {
		r.ID = fmt.Sprintf("%s-%d", release.Version, n+1)
	}
	w.Tell(fmt.Sprintf("%s: a round, for %s", r.ID, why))
	return w.Journal.begin(r)
}

// round does the steps of a round that are left.
func (w *Watch) round(ctx context.Context, r *Progress) error {
	for _, step := range w.Steps {
		now := r.Step(step.Name)
		if now.over() {
			continue
		}
		left := w.Budget - time.Duration(r.SpentS*float64(time.Second))
		if left <= 0 && !step.Always {
			if err := w.Journal.leaveOut(r, step.Name, fmt.Sprintf("the round has used its %s", w.Budget)); err != nil {
				return err
			}
			w.tell(r, step.Name)
			continue
		}
		err := w.step(ctx, r, step, left)
		w.tell(r, step.Name)
		if err != nil {
			return err
		}
		if after := r.Step(step.Name); step.First && after.Did == Failed {
			if after.over() {
				break
			}
			return nil // at the next look
		}
	}
	if slices.ContainsFunc(w.Steps, func(s Step) bool { now := r.Step(s.Name); return now.Did == Failed && !now.over() }) {
		return nil
	}
	w.Tell(r.ID + ": the round has ended")
	return w.Journal.end(r)
}

// step does one step. Its error is the end of ctx, or one of the journal.
func (w *Watch) step(ctx context.Context, r *Progress, s Step, left time.Duration) error {
	if err := w.Journal.beginStep(r, s.Name); err != nil {
		return err
	}
	w.tell(r, s.Name)
	bound, cancel := ctx, context.CancelFunc(func() {})
	if !s.Always {
		bound, cancel = context.WithTimeout(ctx, left)
	}
	defer cancel()
	alive := w.Journal.keepAlive()
	began := time.Now()
	outcome, err := s.Do(bound, r.Round)
	took := time.Since(began)
	alive()
	switch {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), w.Journal.stop(r, s.Name, took))
	case bound.Err() != nil:
		return w.Journal.endStep(r, s.Name, outcome+cutOff, took)
	case err != nil:
		return w.Journal.fail(r, s.Name, err.Error(), took)
	}
	return w.Journal.endStep(r, s.Name, outcome, took)
}

// cutOff is the end of the outcome of a step that was.
const cutOff = " (it was cut off: the round has used its time)"

func (w *Watch) tell(r *Progress, step string) {
	w.Tell(fmt.Sprintf("%s %s: %s", r.ID, step, r.Step(step)))
}
