package tools

import (
	"github.com/robustmq/rmq-mcp/experiment/keeper"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// Counts are a run's traffic. Lost and duplicated messages are left out until
// the judge has read the record: 0 would be a claim. Messages are lost where a claim
// failed by them, else missing.
type Counts struct {
	Sent        int64   `json:"sent"`  // publishes called
	Acked       int64   `json:"acked"` // the broker acknowledged
	Unknown     int64   `json:"unknown"`
	Received    int64   `json:"received"` // deliveries, over all subscribers
	Lost        *int64  `json:"lost,omitempty"`
	Missing     *int64  `json:"missing,omitempty"` // acknowledged, and not in the record of their subscribers, which proves no loss
	Duplicated  *int64  `json:"duplicated,omitempty"`
	PublishPerS float64 `json:"publish_per_s,omitempty"`
	DeliverPerS float64 `json:"deliver_per_s,omitempty"`
}

// soFar are the counts of traffic that nobody has judged.
func soFar(c keeper.Counts) Counts {
	return Counts{Sent: c.Sent, Acked: c.Acked, Unknown: c.Unknown, Received: c.Received, PublishPerS: c.PublishPerS, DeliverPerS: c.DeliverPerS}
}

// judged are the counts as the judge read them from the record.
func judged(s *reports.Summary) Counts {
	t := s.Totals
	c := Counts{Sent: t.Sent, Acked: t.Acked, Unknown: t.Unknown, Received: t.Received, Duplicated: &t.Duplicated}
	if proven, _ := verdict.ProvesLoss(s.Verdict.Results, t.Lost); proven || t.Lost == 0 {
		c.Lost = &t.Lost
	} else {
		c.Missing = &t.Lost
	}
	return c
}

// A ClientLine is one run_client, or the workload of a scenario. Only the
// experiment's counts are shown: a client run has none of its own.
type ClientLine struct {
	Number   int    `json:"number"`
	Workload string `json:"workload"`
	SDK      string `json:"sdk"`
	State    string `json:"state"` // running, draining, done, failed
	Error    string `json:"error,omitempty"`
}

func clientLine(c keeper.ClientStatus) ClientLine {
	return ClientLine{c.Number, c.Workload, c.SDK, c.State, c.Error}
}

func clientLines(list []keeper.ClientStatus) []ClientLine {
	out := make([]ClientLine, len(list))
	for i, c := range list {
		out[i] = clientLine(c)
	}
	return out
}
