// Package site makes the static site of everything that is stored: runs, findings, matrices.
// It needs no server. A browser opens its index.html from disk.
package site

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"

	"github.com/robustmq/rmq-mcp/campaigns/finding"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/reports"
)

//go:embed templates
var templates embed.FS

// A site is one that is being written.
type site struct {
	root      string // of what is stored
	out       *os.Root
	pages     *template.Template
	Runs      []*run // the newest first
	byID      map[string]*run
	counted   map[string][]*run // that say something of a broker, by its name
	brokers   []string          // of these
	findings  finding.Findings
	Shows     map[string][]finding.Finding // by run
	Matrices  []*reports.MatrixView        // the newest first
	Campaigns []campaignLine               // the newest first
	Broken    []string                     // why a matrix or a campaign has no page
	written   map[string]bool              // paths of files
}

// Write writes the site of everything below root, a state directory or a copy that was
// published. A page of before is replaced. A link in out is an error, because by one somebody
// else could choose where pages are written and removed.
func Write(root, out string) error {
	s, err := newSite(root, out)
	if err == nil {
		err = errors.Join(s.write(), s.out.Close())
	}
	if err != nil {
		return fmt.Errorf("make the site of %s: %w", root, err)
	}
	return nil
}

func newSite(root, out string) (*site, error) {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return nil, err
	}
	below, err := os.OpenRoot(out)
	return &site{root: root, out: below, byID: map[string]*run{}, written: map[string]bool{}}, err
}

func (s *site) write() (err error) {
	if s.pages, err = parse(); err != nil {
		return err
	}
	if s.findings, err = finding.Load(s.root); err != nil {
		return err
	}
	s.Shows = map[string][]finding.Finding{}
	for _, f := range s.findings.Findings {
		for _, r := range f.Runs {
			s.Shows[r.RunID] = append(s.Shows[r.RunID], f)
		}
	}
	for _, step := range []func() error{s.writeRuns, s.writeMatrices, s.writeCampaigns, s.writeFindings, s.writeCoverage, s.writeVersions, s.writeScenarios, s.writeFeed, s.writeBadge, s.writeList, s.clear} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func parse() (*template.Template, error) {
	pages, err := reports.PageTemplates()
	if err != nil {
		return nil, err
	}
	return pages.Funcs(template.FuncMap{"sum": func(a, b int) int { return a + b }}).ParseFS(templates, "templates/*")
}

// page writes a page of a template; its path is relative to the site.
func (s *site) page(path, name string, data any) error {
	var text bytes.Buffer
	if err := s.pages.ExecuteTemplate(&text, name, data); err != nil {
		return err
	}
	return s.file(path, text.Bytes())
}

// file writes a file of the site.
func (s *site) file(path string, content []byte) error {
	s.wrote(path)
	return reports.WriteBelow(s.out, path, content)
}

// wrote notes a file of the site.
func (s *site) wrote(path string) { s.written[filepath.ToSlash(filepath.Clean(path))] = true }

// A markdownPage is a page that is written in Markdown.
type markdownPage struct {
	Title string
	Up    string // where its first link leads
	Of    string // what that is
	Body  template.HTML
}

// markdown writes a page of Markdown. Markup of HTML in it is shown, not obeyed: such pages
// quote brokers and agents.
func (s *site) markdown(path string, p markdownPage, text []byte) (err error) {
	if p.Body, err = toHTML(text); err != nil {
		return err
	}
	return s.page(path, "page.html", p)
}

func toHTML(markdown []byte) (template.HTML, error) {
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithParserOptions(parser.WithAutoHeadingID())).Convert(markdown, &out); err != nil {
		return "", err
	}
	return template.HTML(marks.Replace(out.String())), nil
}

// A section is a heading of a page, for its navigation.
type section struct {
	ID    string
	Title template.HTML
}

var headingForm = regexp.MustCompile(`<h2 id="([^"]*)">(.*)</h2>`)

// sectionsOf are the sections of a page made by toHTML.
func sectionsOf(page template.HTML) (list []section) {
	for _, m := range headingForm.FindAllStringSubmatch(string(page), -1) {
		list = append(list, section{m[1], template.HTML(m[2])})
	}
	return list
}

// marks are the same on every machine: it needs no font of pictures, and colours come from
// the style. Text of others holds no tag.
var marks = strings.NewReplacer(
	"<td>⚠️", `<td class="expected">!`, "⚠️", "!", "<td>✅", `<td class="pass">✓`, "<td>❌", `<td class="fail">✗`, "<td>❔", `<td class="unclear">?`,
	"<h1>✅", `<h1><span class="pass">✓</span>`, "<h1>❌", `<h1><span class="fail">✗</span>`, "<h1>❔", `<h1><span class="unclear">?</span>`,
	"✅", "✓", "❌", "✗", "❔", "?",
)

// manifestFile lists the files of a site, so that the next one there knows which are its own.
const manifestFile = "site.json"

type manifest struct {
	Files []string `json:"files"` // paths, with slashes
}

// clear removes the files of the site of before that are not in this one. A folder may have
// others, which are somebody else's.
func (s *site) clear() error {
	var before manifest
	err := stored.ReadJSON(filepath.Join(s.out.Name(), manifestFile), &before)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, path := range before.Files {
		if s.written[path] || !filepath.IsLocal(filepath.FromSlash(path)) {
			continue
		}
		if err := s.remove(filepath.FromSlash(path)); err != nil {
			return err
		}
	}
	now, err := reports.JSON(manifest{slices.Sorted(maps.Keys(s.written))})
	if err != nil {
		return err
	}
	return reports.WriteBelow(s.out, manifestFile, now)
}

// remove removes a file of the site, if it is there. It follows no link.
func (s *site) remove(path string) error {
	if err := reports.NoLink(s.out, filepath.Dir(path)); err != nil {
		return err
	}
	if err := s.out.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// ScriptHashes are those of the scripts in the pages, as a content security policy names
// them.
func ScriptHashes() ([]string, error) {
	pages, err := parse()
	if err != nil {
		return nil, err
	}
	var hashes []string
	for _, page := range pages.Templates() {
		if page.Tree == nil {
			continue
		}
		for rest := page.Tree.Root.String(); ; {
			_, after, found := strings.Cut(rest, "<script>")
			script, more, closed := strings.Cut(after, "</script>")
			if !found || !closed {
				break
			}
			sum := sha256.Sum256([]byte(script))
			hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
			rest = more
		}
	}
	return hashes, nil
}
