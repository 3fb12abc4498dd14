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

// A Release is a version of the broker that can be run. Where its files are is asked anew at
// each look, so that no journal of somebody else names a program.
type Release struct {
	Version   string    `json:"version"`         // v0.4.12
	Notes     string    `json:"notes,omitempty"` // of its maker
	Repo      string    `json:"repo,omitempty"`  // OWNER/REPO that it is of; "" for none
	Published time.Time `json:"published,omitzero"`
	Binary    string    `json:"-"` // path of its program; "": there is an archive
	Archives  string    `json:"-"` // where that is: a directory, or an address as release.DefaultBase; "": the vendor's
}

// A Source lists the releases that there are, in any order.
type Source interface {
	Releases(ctx context.Context) ([]Release, error)
}

// A Round is one release on its way through the steps.
type Round struct {
	ID      string    `json:"id"` // the version; v0.4.12_2 is its second round
	Why     string    `json:"why"`
	Seed    int64     `json:"seed"` // of all that is random in it
	Begun   time.Time `json:"begun"`
	Release Release   `json:"release"`
}

// A Step is a part of every round.
type Step struct {
	Name   string
	First  bool // without it no other is done
	Rest   bool // it takes all the time that is left, and so waits for steps that failed
	Always bool // it is done, too, where the round's time is over, and again after a later step
	// Do returns the outcome in words. It has until the end of ctx, and resumes its own work if it
	// was stopped before. An error is one of the harness: a broker that fails is an outcome.
	Do func(ctx context.Context, r Round) (outcome string, err error)
}

// alwaysBound is how long a step may take that is always done.
const alwaysBound = time.Hour

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
// end. At the first look the newest release is new, later each that was not listed before
// and was published since. A round waits while its release is not listed.
func (w *Watch) Look(ctx context.Context) error {
	listed, err := w.Source.Releases(ctx)
	if err != nil {
		return err
	}
	listed = slices.DeleteFunc(slices.Clone(listed), func(r Release) bool { return !semver.IsValid(r.Version) })
	slices.SortFunc(listed, func(a, b Release) int { return semver.Compare(a.Version, b.Version) })
	if err := w.choose(listed); err != nil {
		return err
	}
	for _, r := range w.Journal.Open() {
		i := slices.IndexFunc(listed, func(l Release) bool { return l.Version == r.Release.Version })
		if i < 0 {
			if err := w.withoutRelease(r); err != nil {
				return err
			}
			continue
		}
		if !r.Gone.IsZero() {
			if err := w.Journal.find(r); err != nil {
				return err
			}
		}
		r.Release.Binary, r.Release.Archives = listed[i].Binary, listed[i].Archives
		if listed[i].Notes != r.Release.Notes { // they were written later, or again
			if err := w.Journal.note(r, listed[i].Notes); err != nil {
				return err
			}
		}
		if err := w.round(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// withoutRelease has a round wait for a release that is not listed any more, for as long as
// a step that fails is begun again. Then it ends the round.
func (w *Watch) withoutRelease(r *Progress) error {
	if r.Gone.IsZero() {
		if err := w.Journal.miss(r); err != nil {
			return err
		}
	}
	if time.Since(r.Gone) < patience {
		w.Tell(fmt.Sprintf("%s waits: %s is not listed any more", r.ID, r.Release.Version))
		return nil
	}
	w.Tell(fmt.Sprintf("%s: the round has ended, for %s is not listed any more", r.ID, r.Release.Version))
	return w.Journal.end(r)
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

// choose begins a round of each release that is new. Listed is in order.
func (w *Watch) choose(listed []Release) error {
	if len(listed) == 0 {
		return nil
	}
	newest := listed[len(listed)-1]
	if w.Journal.empty() { // the newest is known by its round, so that no kill in between loses it
		if err := w.Journal.know(listed[:len(listed)-1]); err != nil {
			return err
		}
	}
	why := "it is new"
	if len(w.Journal.Rounds) == 0 {
		why = "it is the newest at the first look"
	}
	for _, r := range listed {
		if w.Journal.isNew(r) {
			if err := w.begin(r, why); err != nil {
				return err
			}
		}
	}
	if last := w.Journal.last(); w.Again > 0 && last != nil && !last.Ended.IsZero() && time.Since(last.Begun) >= w.Again {
		return w.begin(newest, fmt.Sprintf("the last round began %s ago or more", w.Again))
	}
	return nil
}

func (w *Watch) begin(release Release, why string) error {
	r := Round{ID: release.Version, Why: why, Begun: time.Now().UTC().Truncate(time.Second), Release: release}
	r.Seed = r.Begun.Unix()
	if n := w.Journal.roundsOf(release.Version); n > 0 {
		r.ID = fmt.Sprintf("%s_%d", release.Version, n+1)
	}
	w.Tell(fmt.Sprintf("%s: a round, for %s", r.ID, why))
	return w.Journal.begin(r)
}

// round does the steps of a round that are left. It ends the round where none is left for
// the next look.
func (w *Watch) round(ctx context.Context, r *Progress) error {
	for _, step := range w.Steps {
		if !w.due(r, step) {
			continue
		}
		left := w.Budget - time.Duration(r.SpentS*float64(time.Second))
		if step.Always {
			left = alwaysBound
		}
		if left <= 0 {
			if r.Step(step.Name).Did == Failed { // it has no time to be begun again, and says why it failed
				continue
			}
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
	}
	for _, step := range w.Steps {
		if w.waits(r, step) {
			return nil
		}
	}
	w.Tell(r.ID + ": the round has ended")
	return w.Journal.end(r)
}

// due reports whether a step is to be done now.
func (w *Watch) due(r *Progress, step Step) bool {
	now := r.Step(step.Name)
	if now.over() && !(step.Always && w.behind(r, step)) {
		return false
	}
	for _, s := range w.Steps {
		other := r.Step(s.Name)
		if s.First && s.Name != step.Name && other.Did != Done {
			return false
		}
		if step.Rest && s.Name != step.Name && !s.Always && other.Did == Failed && w.waits(r, s) {
			return false
		}
	}
	return true
}

// behind reports whether something was done after a step: another one that is not always done,
// or one before it that is.
func (w *Watch) behind(r *Progress, step Step) bool {
	at, before := r.Step(step.Name).At, true
	for _, s := range w.Steps {
		before = before && s.Name != step.Name
		other := r.Step(s.Name)
		if s.Name != step.Name && (!s.Always || before) && other.Did == Done && other.At.After(at) {
			return true
		}
	}
	return false
}

// waits reports whether a step is to be done at a later look.
func (w *Watch) waits(r *Progress, step Step) bool {
	now := r.Step(step.Name)
	if now.over() {
		return false
	}
	for _, s := range w.Steps {
		if s.First && s.Name != step.Name && r.Step(s.Name).Did != Done && !w.waits(r, s) {
			return false // it will never be
		}
	}
	return step.Always || now.Did != Failed || r.SpentS < w.Budget.Seconds()
}

// step does one step. Its error is the end of ctx, or one of the journal.
func (w *Watch) step(ctx context.Context, r *Progress, s Step, left time.Duration) error {
	if err := w.Journal.beginStep(r, s.Name); err != nil {
		return err
	}
	w.tell(r, s.Name)
	bound, cancel := context.WithTimeout(ctx, left)
	defer cancel()
	alive := w.Journal.keepAlive()
	began := time.Now()
	outcome, err := s.Do(bound, r.Round)
	took := time.Since(began)
	alive()
	switch cut := bound.Err() != nil; {
	case ctx.Err() != nil:
		return errors.Join(ctx.Err(), w.Journal.stop(r, s.Name, took))
	case cut && !s.First && !s.Always && (err == nil || errors.Is(err, context.DeadlineExceeded)):
		return w.Journal.endStep(r, s.Name, outcome+cutOff, took)
	case err == nil && cut:
		err = fmt.Errorf("it took longer than %s", left)
	}
	if err != nil {
		return w.Journal.fail(r, s.Name, err.Error(), took)
	}
	return w.Journal.endStep(r, s.Name, outcome, took)
}

// cutOff is the end of the outcome of a step that was.
const cutOff = " (it was cut off: the round has used its time)"

func (w *Watch) tell(r *Progress, step string) {
	w.Tell(fmt.Sprintf("%s %s: %s", r.ID, step, r.Step(step)))
}
