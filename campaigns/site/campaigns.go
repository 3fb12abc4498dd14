package site

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/robustmq/rmq-mcp/campaigns"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
)

// A campaignLine is a campaign in the list of the first page.
type campaignLine struct {
	campaigns.SearchSummary
	Path string
}

// writeCampaigns writes the page of each campaign. One that is broken hides no other.
func (s *site) writeCampaigns() error {
	entries, err := os.ReadDir(filepath.Join(s.root, campaigns.SearchesDir))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() || !stored.IsID(e.Name()) {
			continue
		}
		summary, err := campaigns.ReadSearch(filepath.Join(s.root, campaigns.SearchesDir, e.Name()))
		if err != nil {
			s.Broken = append(s.Broken, fmt.Sprintf("campaign %s is not readable: %s", e.Name(), plain.Line(err.Error())))
			continue
		}
		line := campaignLine{summary, campaigns.SearchesDir + "/" + e.Name() + ".html"}
		if err := s.markdown(line.Path, markdownPage{Title: "campaign " + e.Name(), Up: "../index.html", Of: "every run"}, []byte(line.Markdown())); err != nil {
			return err
		}
		s.Campaigns = append(s.Campaigns, line)
	}
	slices.SortStableFunc(s.Campaigns, func(a, b campaignLine) int { return b.Begun.Compare(a.Begun) })
	return nil
}
