package main

import (
	"cmp"
	"fmt"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/plan"
)

// A planLine is one frozen plan in a list.
type planLine struct {
	Name      string    `json:"name"`
	SHA256    string    `json:"sha256"`
	Frozen    time.Time `json:"frozen"`
	Title     string    `json:"title"`
	Scenarios int       `json:"scenarios"`
	Damaged   string    `json:"damaged,omitempty"` // why it cannot be read
}

func (a *app) listPlans() (any, [][]string, error) {
	dir, err := a.reading()
	if err != nil {
		return nil, nil, err
	}
	all, err := plan.All(dir)
	lines := []planLine{}
	table := [][]string{{"PLAN", "SHA256", "FROZEN", "SCENARIOS", "QUESTION"}}
	for _, r := range all {
		line := planLine{Name: r.Plan.Name, SHA256: r.Hash, Frozen: r.At, Title: r.Plan.Title, Scenarios: len(r.Items)}
		if r.Damaged != nil {
			line.Damaged = r.Damaged.Error()
		}
		lines = append(lines, line)
		table = append(table, []string{r.Plan.Name, r.Hash[:12], r.At.Local().Format("01-02 15:04"), fmt.Sprint(len(r.Items)), cmp.Or(line.Damaged, r.Plan.Title)})
	}
	return lines, table, err
}
