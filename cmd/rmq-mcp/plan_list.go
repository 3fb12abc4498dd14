package main

import (
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
		lines = append(lines, planLine{r.Plan.Name, r.Hash, r.At, r.Plan.Title, len(r.Items)})
		table = append(table, []string{r.Plan.Name, r.Hash[:12], r.At.Local().Format("01-02 15:04"), fmt.Sprint(len(r.Items)), r.Plan.Title})
	}
	return lines, table, err
}
