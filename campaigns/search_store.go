package campaigns

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/random"
	"github.com/robustmq/rmq-mcp/cluster"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// A SearchPlan is what a random campaign does, written down before it is begun.
type SearchPlan struct {
	Format  int            `json:"format"`
	Seed    int64          `json:"seed"`
	Space   random.Space   `json:"space"`
	Cluster cluster.Config `json:"cluster"` // of every run
	Build   Build          `json:"build"`   // of its binary, where that is a file here
	MaxRuns int            `json:"max_runs,omitempty"`
	MaxS    float64        `json:"max_s,omitempty"` // of all runs and reductions
	Command string         `json:"command"`         // that asked for it
	Begun   time.Time      `json:"begun"`
}

// A Search is a random campaign: its directory, its plan, and what was made of it
// until now, maybe by a process that was killed.
type Search struct {
	Dir        string
	Plan       SearchPlan
	Rounds     []Round
	Reductions []Reduced
}

// Files of a search's directory, beside its scenarios and those that people read.
const (
	SearchesDir    = "campaigns" // in the state directory
	searchFile     = "plan.json"
	roundsFile     = "runs.jsonl"
	reductionsFile = "reductions.jsonl"
	searchFormat   = 1
)

// NewSearch begins a campaign below the state directory.
func NewSearch(stateDir string, p SearchPlan, now time.Time) (*Search, error) {
	p.Format, p.Begun = searchFormat, now.UTC().Truncate(time.Second)
	s := &Search{Plan: p}
	parent := filepath.Join(stateDir, SearchesDir)
	err := os.MkdirAll(parent, 0o755)
	name := fmt.Sprintf("%s-%s-%d", now.Format("0102-1504"), p.Space.Flavor, p.Seed)
	for n := 1; err == nil; n++ {
		s.Dir = filepath.Join(parent, name)
		if n > 1 {
			s.Dir += fmt.Sprintf("-%d", n)
		}
		if err = os.Mkdir(s.Dir, 0o755); !errors.Is(err, fs.ErrExist) {
			break
		}
		err = nil
	}
	if err == nil {
		err = reports.WriteJSON(filepath.Join(s.Dir, searchFile), p)
	}
	if err != nil {
		return nil, fmt.Errorf("begin a campaign: %w", err)
	}
	return s, nil
}

// OpenSearch reads a campaign that was begun.
func OpenSearch(dir string) (*Search, error) {
	s := &Search{Dir: dir}
	err := stored.ReadJSON(filepath.Join(dir, searchFile), &s.Plan)
	if err == nil && s.Plan.Format != searchFormat {
		err = fmt.Errorf("it has format %d and this version reads format %d", s.Plan.Format, searchFormat)
	}
	if err == nil {
		s.Rounds, err = stored.ReadJSONs[Round](filepath.Join(dir, roundsFile))
	}
	if err == nil {
		s.Reductions, err = stored.ReadJSONs[Reduced](filepath.Join(dir, reductionsFile))
	}
	if err != nil {
		return nil, fmt.Errorf("open campaign %s: %w", dir, err)
	}
	return s, nil
}

// ReadSearch is what a campaign shows, of its directory or of a copy that was published.
func ReadSearch(dir string) (sum SearchSummary, err error) {
	search, err := OpenSearch(dir)
	if err == nil {
		return search.Summary(), nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return sum, err
	}
	if err = stored.ReadJSON(filepath.Join(dir, SearchFile), &sum); err == nil && sum.ID != filepath.Base(dir) {
		err = fmt.Errorf("read %s: it is of campaign %q", filepath.Join(dir, SearchFile), sum.ID)
	}
	return sum, err
}

// UnfinishedSearch answers the newest campaign like a plan whose limits are not
// reached, nil where there is none. A plan without a seed is like one with any.
func UnfinishedSearch(stateDir string, like SearchPlan) (newest *Search, err error) {
	dirs, err := filepath.Glob(filepath.Join(stateDir, SearchesDir, "*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		s, err := OpenSearch(dir)
		if err != nil || s.Over() || !s.Plan.same(like) { // one that cannot be read is nothing to go on with
			continue
		}
		if newest == nil || s.Plan.Begun.After(newest.Plan.Begun) {
			newest = s
		}
	}
	return newest, nil
}

// same reports whether two plans ask for the same, whenever they did.
func (p SearchPlan) same(other SearchPlan) bool {
	if p.Seed == 0 || other.Seed == 0 {
		p.Seed, other.Seed = 0, 0
	}
	plain := func(p SearchPlan) []byte {
		p.Format, p.Begun, p.Command, p.Build = 0, time.Time{}, "", Build{}
		text, err := json.Marshal(p)
		if err != nil {
			panic(err) // of strings and numbers
		}
		return text
	}
	return !p.Build.other(other.Build) && bytes.Equal(plain(p), plain(other))
}

// ID of the campaign.
func (s *Search) ID() string { return filepath.Base(s.Dir) }

// Lock keeps any other process from working on the campaign until it is
// unlocked.
func (s *Search) Lock() (unlock func() error, err error) { return only("campaign", s.Dir) }

func (s *Search) addRound(r Round) error {
	if err := stored.AppendJSON(filepath.Join(s.Dir, roundsFile), r); err != nil {
		return fmt.Errorf("keep what run %d showed: %w", r.N, err)
	}
	s.Rounds = append(s.Rounds, r)
	return s.Save()
}

func (s *Search) addReduced(r Reduced) error {
	if err := stored.AppendJSON(filepath.Join(s.Dir, reductionsFile), r); err != nil {
		return fmt.Errorf("keep the reduction of run %s: %w", r.RunID, err)
	}
	s.Reductions = append(s.Reductions, r)
	return s.Save()
}
