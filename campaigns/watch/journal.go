package watch

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"golang.org/x/mod/semver"

	"github.com/robustmq/rmq-mcp/internal/stored"
)

// Dir is in the state directory. It has a directory of each thing that is watched, with its
// journal and a directory of each round.
const Dir = "watch"

const (
	journalFile = "journal.jsonl"
	lockFile    = "lock"
	aliveEvery  = time.Minute
)

// A step that fails is begun again at each look, until this was done and so long ago. A step
// whose process is killed is begun again so often.
const (
	leastAttempts = 3
	patience      = 24 * time.Hour
	mostKills     = 10
)

// roundForm is an ID of a round, which is part of paths.
var roundForm = regexp.MustCompile(`^v[0-9][0-9A-Za-z.+-]{0,100}(_[0-9]{1,6})?$`)

// A Did is what a line of the journal says.
type Did string

// The lines of a journal.
const (
	Knew    Did = "known"    // releases of the first look, which have no round
	Opened  Did = "round"    // a round
	Began   Did = "begun"    // a step
	Done    Did = "done"     // a step, with its outcome
	Failed  Did = "failed"   // a step, by an error
	Stopped Did = "stopped"  // a step, by a person
	Killed  Did = "killed"   // a step, with its process
	LeftOut Did = "left out" // a step, and why
	Noted   Did = "notes"    // of a release, which its maker changed
	Missed  Did = "gone"     // a release: it is not listed any more
	Found   Did = "back"     // it is listed again
	Closed  Did = "ended"    // a round
)

// A Line is one of the journal.
type Line struct {
	At       time.Time `json:"at"`
	Did      Did       `json:"did"`
	Versions []string  `json:"versions,omitempty"` // that are known
	Round    *Round    `json:"round,omitempty"`    // that begins
	ID       string    `json:"id,omitempty"`       // of the round
	Step     string    `json:"step,omitempty"`
	Text     string    `json:"text,omitempty"` // outcome, error, reason
	TookS    float64   `json:"took_s,omitempty"`
}

// A Progress is how far a round is.
type Progress struct {
	Round
	SpentS float64    `json:"spent_s"`        // by its steps together
	Gone   time.Time  `json:"gone,omitzero"`  // since when its release is not listed; zero while it is
	Ended  time.Time  `json:"ended,omitzero"` // zero while it goes on
	Steps  []Attempts `json:"steps"`          // in the order of their first begin
}

// Attempts are how far a step of a round is.
type Attempts struct {
	Name  string    `json:"name"`
	Did   Did       `json:"did"`
	Text  string    `json:"text,omitempty"`
	Fails int       `json:"fails,omitempty"` // since it was done last
	Kills int       `json:"kills,omitempty"` // since then, too
	First time.Time `json:"first_failed,omitzero"`
	At    time.Time `json:"at"`
}

// Unfinished reports whether a step came to no end of its own. In a round that has ended it
// was given up.
func (a Attempts) Unfinished() bool { return a.Did == Failed || a.Did == Killed }

// over reports whether a step is not begun any more.
func (a Attempts) over() bool {
	switch a.Did {
	case Done, LeftOut:
		return true
	case Failed:
		return a.Fails >= leastAttempts && time.Since(a.First) >= patience
	case Killed:
		return a.Kills >= mostKills
	}
	return false
}

func (a Attempts) String() string {
	text := string(a.Did)
	if a.Did == Failed {
		text = fmt.Sprintf("failed, attempt %d", a.Fails)
	}
	if a.Text != "" {
		text += ": " + a.Text
	}
	return text
}

// Step is how far a step is; its zero value with the name where it was not begun.
func (p *Progress) Step(name string) Attempts {
	for _, s := range p.Steps {
		if s.Name == name {
			return s
		}
	}
	return Attempts{Name: name}
}

// A Journal is what was decided, in a file that only grows.
type Journal struct {
	Rounds []*Progress `json:"rounds"` // in the order of their begins

	dir   string
	known map[string]bool // versions that are not new
	since time.Time       // of the first look; zero before it
	lock  *flock.Flock    // nil of one that is only read
}

// NameOf names what is watched: the releases of a broker in a repository or a directory.
func NameOf(flavor, from string) string {
	sum := sha256.Sum256([]byte(flavor + "\n" + from))
	return fmt.Sprintf("%s-%s-%x", flavor, stored.Slug(from), sum[:2])
}

// Journals are the journals of all that is watched from a state directory, by name. They are
// only read.
func Journals(stateDir string) (map[string]*Journal, error) {
	all := map[string]*Journal{}
	files, err := filepath.Glob(filepath.Join(stateDir, Dir, "*", journalFile))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		name := filepath.Base(filepath.Dir(file))
		if all[name], err = readJournal(stateDir, name); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func readJournal(stateDir, name string) (*Journal, error) {
	j := &Journal{dir: filepath.Join(stateDir, Dir, name), known: map[string]bool{}}
	lines, err := stored.ReadJSONs[Line](filepath.Join(j.dir, journalFile))
	if err != nil {
		return nil, fmt.Errorf("read the journal of the watch: %w", err)
	}
	for _, l := range lines {
		j.apply(l)
	}
	return j, nil
}

// OpenJournal goes on with the journal of what is watched from a state directory, or begins
// it. There is one watch of a state directory at a time. A step whose process was killed
// counts until the last sign of life.
func OpenJournal(stateDir, name string) (*Journal, error) {
	if err := os.MkdirAll(filepath.Join(stateDir, Dir, name), 0o755); err != nil {
		return nil, fmt.Errorf("make the directory of the watch: %w", err)
	}
	lock := flock.New(filepath.Join(stateDir, Dir, lockFile))
	switch mine, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("lock the watch: %w", err)
	case !mine:
		return nil, fmt.Errorf("another process watches from %s; wait for its end, or see `rmq-mcp watch --status`", stateDir)
	}
	j, err := readJournal(stateDir, name)
	if err == nil {
		j.lock = lock
		err = j.settle()
	}
	if err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return j, nil
}

// Close lets others watch.
func (j *Journal) Close() error { return j.lock.Unlock() }

// settle notes the end of steps whose process was killed.
func (j *Journal) settle() error {
	alive := time.Time{}
	if info, err := os.Stat(j.path()); err == nil {
		alive = info.ModTime()
	}
	for _, r := range j.Rounds {
		for _, s := range r.Steps {
			if s.Did != Began {
				continue
			}
			if err := j.add(Line{Did: Killed, ID: r.ID, Step: s.Name, TookS: max(0, alive.Sub(s.At).Seconds())}); err != nil {
				return err
			}
		}
	}
	return nil
}

// Dir is where the rounds keep what is not a run.
func (j *Journal) Dir() string { return j.dir }

// Name of what is watched, as [NameOf] makes it.
func (j *Journal) Name() string { return filepath.Base(j.dir) }

func (j *Journal) path() string { return filepath.Join(j.dir, journalFile) }

// RoundDir is where a round keeps what is not a run, made on demand.
func (j *Journal) RoundDir(r Round) (string, error) {
	dir := filepath.Join(j.dir, r.ID)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("make the directory of round %s: %w", r.ID, err)
	}
	return dir, nil
}

// Open are the rounds that have not ended, the oldest first.
func (j *Journal) Open() (list []*Progress) {
	for _, r := range j.Rounds {
		if r.Ended.IsZero() {
			list = append(list, r)
		}
	}
	return list
}

// empty reports whether no look was made yet.
func (j *Journal) empty() bool { return j.since.IsZero() }

// isNew reports whether a release has had no round, and came after the first look. One that
// was published before and was not listed then is no news.
func (j *Journal) isNew(r Release) bool {
	first := len(j.Rounds) == 0
	return !j.known[r.Version] && (first || r.Published.IsZero() || r.Published.After(j.since))
}

// last is the round that began last, nil where there is none.
func (j *Journal) last() *Progress {
	if len(j.Rounds) == 0 {
		return nil
	}
	return j.Rounds[len(j.Rounds)-1]
}

// roundsOf counts the rounds of a version.
func (j *Journal) roundsOf(version string) (n int) {
	for _, r := range j.Rounds {
		if r.Release.Version == version {
			n++
		}
	}
	return n
}

// keepAlive gives a sign of life each minute until it is called: the time at which the
// journal was changed.
func (j *Journal) keepAlive() (end func()) {
	stop := make(chan struct{})
	go func() {
		tick := time.NewTicker(aliveEvery)
		defer tick.Stop()
		for {
			select {
			case now := <-tick.C:
				os.Chtimes(j.path(), now, now) // without it a kill costs the budget less
			case <-stop:
				return
			}
		}
	}()
	return func() { close(stop) }
}

func (j *Journal) know(listed []Release) error {
	l := Line{Did: Knew}
	for _, r := range listed {
		l.Versions = append(l.Versions, r.Version)
	}
	return j.add(l)
}

func (j *Journal) begin(r Round) error { return j.add(Line{Did: Opened, Round: &r}) }
func (j *Journal) note(r *Progress, notes string) error {
	return j.add(Line{Did: Noted, ID: r.ID, Text: notes})
}

func (j *Journal) miss(r *Progress) error { return j.add(Line{Did: Missed, ID: r.ID}) }
func (j *Journal) find(r *Progress) error { return j.add(Line{Did: Found, ID: r.ID}) }

func (j *Journal) end(r *Progress) error { return j.add(Line{Did: Closed, ID: r.ID}) }

func (j *Journal) beginStep(r *Progress, step string) error {
	return j.add(Line{Did: Began, ID: r.ID, Step: step})
}

func (j *Journal) endStep(r *Progress, step, outcome string, took time.Duration) error {
	return j.add(Line{Did: Done, ID: r.ID, Step: step, Text: strings.TrimSpace(outcome), TookS: took.Seconds()})
}

func (j *Journal) fail(r *Progress, step, why string, took time.Duration) error {
	return j.add(Line{Did: Failed, ID: r.ID, Step: step, Text: why, TookS: took.Seconds()})
}

func (j *Journal) stop(r *Progress, step string, took time.Duration) error {
	return j.add(Line{Did: Stopped, ID: r.ID, Step: step, TookS: took.Seconds()})
}

func (j *Journal) leaveOut(r *Progress, step, why string) error {
	return j.add(Line{Did: LeftOut, ID: r.ID, Step: step, Text: why})
}

// add writes a line, and does what it says.
func (j *Journal) add(l Line) error {
	l.At = time.Now().UTC()
	if err := stored.AppendJSON(j.path(), l); err != nil {
		return fmt.Errorf("write the journal of the watch: %w", err)
	}
	j.apply(l)
	return nil
}

// apply does what a line says. A line of a round that was not begun does nothing.
func (j *Journal) apply(l Line) {
	if j.since.IsZero() {
		j.since = l.At
	}
	for _, v := range l.Versions {
		j.known[v] = true
	}
	if l.Did == Opened && l.Round != nil {
		if !roundForm.MatchString(l.Round.ID) || !semver.IsValid(l.Round.Release.Version) {
			return // somebody else's
		}
		j.known[l.Round.Release.Version] = true
		j.Rounds = append(j.Rounds, &Progress{Round: *l.Round})
		return
	}
	i := slices.IndexFunc(j.Rounds, func(r *Progress) bool { return r.ID == l.ID })
	if i < 0 {
		return
	}
	r := j.Rounds[i]
	r.SpentS += l.TookS
	switch l.Did {
	case Closed:
		r.Ended = l.At
	case Noted:
		r.Release.Notes = l.Text
	case Missed:
		r.Gone = l.At
	case Found:
		r.Gone = time.Time{}
	}
	if l.Step == "" {
		return
	}
	at := slices.IndexFunc(r.Steps, func(s Attempts) bool { return s.Name == l.Step })
	if at < 0 {
		at = len(r.Steps)
		r.Steps = append(r.Steps, Attempts{Name: l.Step})
	}
	s := &r.Steps[at]
	s.Did, s.Text, s.At = l.Did, l.Text, l.At
	switch l.Did {
	case Failed:
		if s.Fails++; s.Fails == 1 {
			s.First = l.At
		}
	case Killed:
		s.Kills++
	case Done:
		s.Fails, s.Kills, s.First = 0, 0, time.Time{}
	}
}
