package site

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"slices"
	"time"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
)

// A feed is an Atom feed, RFC 4287.
type feed struct {
	XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
	ID      string   `xml:"id"`
	Title   string   `xml:"title"`
	Updated string   `xml:"updated"`
	Author  string   `xml:"author>name"`
	Links   []link   `xml:"link"`
	Entries []entry  `xml:"entry"`
}

type link struct {
	Rel  string `xml:"rel,attr"`
	Href string `xml:"href,attr"`
}

type entry struct {
	ID      string `xml:"id"`
	Title   string `xml:"title"`
	Updated string `xml:"updated"`
	Link    link   `xml:"link"`
	Summary string `xml:"summary"`
}

// writeFeed writes what became of the findings, the newest first, for readers of feeds.
// Their identifiers stay the same, wherever the site lies.
func (s *site) writeFeed() error {
	f := feed{ID: "tag:rmq-mcp,2026:findings", Title: "rmq-mcp: findings", Author: "rmq-mcp", Links: []link{{"self", "feed.xml"}, {"alternate", "findings/index.html"}}}
	newest := time.Unix(0, 0)
	for _, e := range s.findings.Events() {
		if e.Time.After(newest) {
			newest = e.Time
		}
		title := fmt.Sprintf("%s: %s (%s)", e.State, e.Finding, e.Finding.Severity)
		if e.Version != "" {
			title += " in " + e.Version
		}
		id := "tag:rmq-mcp,2026:" + e.Finding.ID + ":" + e.State
		if e.State != finding.Open { // which it becomes once
			id += ":" + e.Version
		}
		f.Entries = append(f.Entries, entry{
			ID: id, Title: title, Updated: e.Time.UTC().Format(time.RFC3339),
			Link: link{"alternate", finding.Folder + "/" + e.Finding.ID + ".html"}, Summary: e.Finding.Text,
		})
	}
	f.Updated = newest.UTC().Format(time.RFC3339)
	text, err := xml.MarshalIndent(f, "", " ")
	if err != nil {
		return err
	}
	return s.file("feed.xml", append([]byte(xml.Header), text...))
}

// A badge is a small picture with two words.
type badge struct {
	Left, Right string
	Class       string // pass, fail or unclear
	W1, W2      int    // widths of the words
}

// writeBadge writes a picture that says how many findings are open.
func (s *site) writeBadge() error {
	open, worst := 0, ""
	for _, f := range s.findings.Findings {
		if f.Status.State == finding.Fixed {
			continue
		}
		if open++; worst == "" || f.Severity < worst {
			worst = f.Severity
		}
	}
	b := badge{Left: "findings", Right: "none open", Class: "pass", W1: 62}
	switch {
	case open > 0:
		b.Right, b.Class = fmt.Sprintf("%d open, worst %s", open, worst), "fail"
	case len(s.counted) == 0:
		b.Right, b.Class = "no run yet", "unclear"
	case !s.decided():
		b.Right, b.Class = "nothing decided", "unclear"
	}
	b.W2 = 10 + 7*len(b.Right)
	var text bytes.Buffer
	if err := s.pages.ExecuteTemplate(&text, "badge.svg", b); err != nil {
		return err
	}
	return s.file("badge.svg", text.Bytes())
}

// decided reports whether any counted run passes or fails.
func (s *site) decided() bool {
	return slices.ContainsFunc(s.Runs, func(r *run) bool { return r.counted && r.Class() != "unclear" })
}
