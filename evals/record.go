package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/history/journal"
	"github.com/robustmq/rmq-mcp/reports"
)

// A Record is what the server wrote down while an agent worked, and what was published.
// Nothing in it is the agent's word.
type Record struct {
	Calls      int
	Took       time.Duration       // from the first call to the last answer
	Characters int                 // of the answers
	Refused    int                 // calls with an error for an answer
	Runs       int                 // judged
	Passed     int                 // of them
	Failed     map[string][]string // claims, by the party that they are attributed to
	Published  int                 // runs
}

// readRecord reads the record below the directories of a stage.
func readRecord(s *Stage) (Record, error) {
	r := Record{Failed: map[string][]string{}}
	if err := r.readCalls(s.State); err != nil {
		return r, err
	}
	if err := r.readRuns(s.State); err != nil {
		return r, err
	}
	pages, err := filepath.Glob(filepath.Join(s.Published, reports.RunsDir, "*", reports.SealFile))
	r.Published = len(pages)
	return r, err
}

func (r *Record) readCalls(state string) error {
	paths, err := filepath.Glob(filepath.Join(state, "journal", "server-*.jsonl"))
	if err != nil {
		return err
	}
	var first time.Time
	for _, path := range paths {
		entries, err := journal.Read(path)
		if err != nil {
			return fmt.Errorf("read the server's journal: %w", err)
		}
		for _, e := range entries {
			if e.Kind == journal.KindCall && first.IsZero() {
				first = e.Time
			}
			switch e.Kind {
			case journal.KindCall:
				r.Calls++
			case journal.KindAnswer:
				var a struct {
					Answer struct{ Answer, Error json.RawMessage }
				}
				if err := json.Unmarshal(e.Data, &a); err != nil {
					return fmt.Errorf("read the server's journal: %w", err)
				}
				r.Took = max(r.Took, e.Time.Sub(first))
				r.Characters += len(a.Answer.Answer) + len(a.Answer.Error)
				if a.Answer.Error != nil {
					r.Refused++
				}
			}
		}
	}
	return nil
}

// readRuns judges all runs again and finds whose doing their failures are.
func (r *Record) readRuns(state string) error {
	folders, err := os.ReadDir(filepath.Join(state, reports.RunsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var dirs []string
	for _, folder := range folders {
		dir := filepath.Join(state, reports.RunsDir, folder.Name())
		if _, err := reports.Dir(dir).Summary(); err == nil {
			dirs = append(dirs, dir)
		}
	}
	cells, err := campaigns.ReadAll(dirs)
	if err != nil {
		return err
	}
	c := campaigns.Compare(cells)
	r.Runs, r.Passed = c.Runs, c.Passed
	for _, a := range c.Attributions {
		party := partyOf(a.Cause)
		for _, claim := range a.Claims {
			if !slices.Contains(r.Failed[party], claim) {
				r.Failed[party] = append(r.Failed[party], claim)
			}
		}
	}
	return nil
}

func partyOf(c reports.Cause) string {
	switch c {
	case reports.CauseBroker, reports.CauseProtocol:
		return "broker"
	case reports.CauseSDK, reports.CauseLibrary:
		return "sdk"
	}
	return "undecided"
}

// An Answer is the last line of an agent's.
type Answer struct {
	Party  string
	Claims []string
}

// readAnswer finds the line in what an agent said.
func readAnswer(said string) (a Answer, err error) {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		line := strings.Trim(lines[i], " *`\r")
		rest, found := strings.CutPrefix(line, "ANSWER:")
		if !found {
			continue
		}
		party, claims, _ := strings.Cut(rest, ";")
		a.Party = strings.ToLower(strings.Trim(party, " *`"))
		for claim := range strings.SplitSeq(claims, ",") {
			if claim = strings.Trim(claim, " *`."); claim != "" && !strings.EqualFold(claim, "none") {
				a.Claims = append(a.Claims, claim)
			}
		}
		if !slices.Contains(parties, a.Party) {
			return a, fmt.Errorf("its answer names the party %q; there are %s", a.Party, strings.Join(parties, ", "))
		}
		return a, nil
	}
	return a, errors.New("none of its lines begins with ANSWER: and a party")
}
