package site

import (
	"path"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// writeFindings writes a page of each finding, and one that lists them.
func (s *site) writeFindings() error {
	list, pages, err := s.findings.Pages(finding.Links{
		Run:     func(id string) string { return s.wayTo(id, "../") },
		Finding: func(id string) string { return id + ".html" },
	})
	if err != nil {
		return err
	}
	err = s.markdown(path.Join(finding.Folder, "index.html"), markdownPage{Title: "Findings", Up: "../index.html", Of: "every run"}, list)
	for i, f := range s.findings.Findings {
		if err != nil {
			return err
		}
		err = s.markdown(path.Join(finding.Folder, f.ID+".html"), markdownPage{Title: f.Severity + ": " + f.String(), Up: "index.html", Of: "all findings"}, pages[i])
	}
	return err
}
