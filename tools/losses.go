package tools

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

// LossView is what each subscriber missed, and when it had been published.
type LossView struct {
	Total       int64            `json:"total"`
	Proven      bool             `json:"proven"`        // a claim failed by them
	Why         string           `json:"why,omitempty"` // they, or some of them, prove no loss
	Listed      int64            `json:"listed"`        // of them below
	Subscribers []SubscriberLoss `json:"subscribers"`
	Faults      []FaultMark      `json:"faults"`
}

// A SubscriberLoss are the messages that one subscriber missed.
type SubscriberLoss struct {
	Subscriber string  `json:"subscriber"`
	Group      string  `json:"group"` // online, offline, paused
	Lost       int64   `json:"lost"`
	Topics     int     `json:"topics"`
	FromS      float64 `json:"published_from_s"`
	ToS        float64 `json:"published_to_s"`
}

// found is what a report says of what went wrong.
type found struct {
	Losses     reports.Losses       `json:"losses"`
	Violations []reports.Violations `json:"violations"`
	Landings   []history.Landing    `json:"landings"`
}

// readFound answers nothing of a run that has no report yet.
func readFound(dir string) (found, error) {
	var f found
	err := stored.ReadJSON(filepath.Join(dir, reports.ReportFile), &f)
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return f, fmt.Errorf("read what went wrong in run %s: %w", runID(dir), err)
	}
	return f, nil
}

// losses is nil where nothing was lost.
func (f found) losses() *LossView {
	l := f.Losses
	if l.Total == 0 {
		return nil
	}
	return &LossView{Total: l.Total, Proven: l.Proven, Why: l.Why, Listed: l.Listed, Subscribers: bySubscriber(l.Ranges), Faults: faultMarks(f.Landings)}
}

func bySubscriber(ranges []reports.LossRange) []SubscriberLoss {
	var list []SubscriberLoss
	index, topics := map[string]int{}, map[[2]string]bool{}
	for _, r := range ranges {
		from, to := time.Duration(r.FromNS).Seconds(), time.Duration(r.ToNS).Seconds()
		i, known := index[r.Subscriber]
		if !known {
			i = len(list)
			index[r.Subscriber] = i
			list = append(list, SubscriberLoss{Subscriber: r.Subscriber, Group: r.Group, FromS: from, ToS: to})
		}
		s := &list[i]
		s.Lost += r.Last - r.First + 1
		s.FromS, s.ToS = min(s.FromS, from), max(s.ToS, to)
		if topic := [2]string{r.Subscriber, r.Topic}; !topics[topic] {
			topics[topic] = true
			s.Topics++
		}
	}
	return list
}
