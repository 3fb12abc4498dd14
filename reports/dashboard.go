package reports

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/stored"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A FixStatus is what became of a failure: status.json beside a report, kept
// by the people who fix brokers.
type FixStatus struct {
	Status  string `json:"status"`            // open, fixed
	Version string `json:"version,omitempty"` // fixed in
	URL     string `json:"url,omitempty"`     // issue or change
}

func (f FixStatus) String() string {
	if f.Version != "" {
		return f.Status + " in " + f.Version
	}
	return f.Status
}

// dashRow is one run on the list page.
type dashRow struct {
	Row
	Fix  FixStatus
	Page bool // there is a page about it
}

// Class of the state, for colours and the filter: pass, fail or unclear.
func (r dashRow) Class() string { return stateClass(r.State) }

// Broker is what was under test, by name and version.
func (r dashRow) Broker() string {
	return brokerName(history.ClusterInfo{Flavor: r.Flavor, Version: r.Version})
}

func stateClass(s verdict.State) string {
	switch {
	case s == Unfinished:
		return "unclear"
	case s.ExitCode() == 0:
		return "pass"
	case s.ExitCode() == 1:
		return "fail"
	}
	return "unclear"
}

// A Section is pages of a site about something else than one run.
type Section struct {
	Name  string // of its folder
	Line  string // on the first page, which leads to the section's first page
	Pages []Page
}

// A Page is Markdown. Markup of HTML in it is shown, not obeyed.
type Page struct {
	File     string // without its end; the first is index
	Title    string
	Markdown []byte
}

// Dashboard writes a static site about all runs under root, a state directory
// or a copy that [Push] made: a list, a page for each run, and the sections. It needs no
// server; a browser opens index.html from disk.
func Dashboard(root, out string, sections ...Section) error {
	pages, err := pageTemplates()
	if err != nil {
		return err
	}
	rows, err := List(root, Filter{})
	if err != nil {
		return err
	}
	list := make([]dashRow, len(rows))
	for i, row := range rows {
		if list[i], err = writeRunPage(pages, row, filepath.Join(out, RunsDir, row.ID)); err != nil { // one that is broken hides no other
			list[i] = dashRow{Row: unreadable(row.Dir, err)}
		}
	}
	matrices, broken, err := writeMatrixPages(root, out, list)
	if err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	var index bytes.Buffer
	if err := pages.ExecuteTemplate(&index, "index.html", map[string]any{"Rows": list, "Protocols": protocols(list), "Matrices": matrices, "Broken": broken, "Sections": sections}); err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	for _, s := range sections {
		if err := writeSection(pages, s, filepath.Join(out, s.Name)); err != nil {
			return fmt.Errorf("dashboard: write %s: %w", s.Name, err)
		}
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return fmt.Errorf("dashboard: %w", err)
	}
	return WriteFile(filepath.Join(out, "index.html"), index.Bytes())
}

// ScriptHashes are those of the scripts that are in the pages' templates, as a
// content security policy names them.
func ScriptHashes() []string {
	var hashes []string
	pages, _ := fs.Glob(templates, "templates/*.html")
	for _, name := range pages {
		page, _ := fs.ReadFile(templates, name) // it is in this binary
		for rest := string(page); ; {
			_, after, found := strings.Cut(rest, "<script>")
			script, rest2, closed := strings.Cut(after, "</script>")
			if !found || !closed {
				break
			}
			sum := sha256.Sum256([]byte(script))
			hashes = append(hashes, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
			rest = rest2
		}
	}
	return hashes
}

func pageTemplates() (*template.Template, error) {
	return template.New("").Funcs(template.FuncMap{
		"thousands": thousands, "size": size, "joined": joined, "inc": func(n int) int { return n + 1 },
	}).ParseFS(templates, "templates/*.html")
}

// writeMatrixPages writes the page of each matrix. It returns them, the newest
// first, and why another one cannot be read. One that was begun and has shown
// nothing yet has no page.
func writeMatrixPages(root, out string, runs []dashRow) (list []*matrixView, broken []string, err error) {
	dirs, err := Matrices(root)
	if err != nil {
		return nil, nil, err
	}
	link := func(run string) string {
		if slices.ContainsFunc(runs, func(r dashRow) bool { return r.ID == run && r.Page }) {
			return "../../" + RunsDir + "/" + run + "/index.html"
		}
		return ""
	}
	for _, dir := range dirs {
		m, err := ReadMatrix(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err == nil && m.ID != filepath.Base(dir) {
			err = fmt.Errorf("it is of matrix %q", m.ID)
		}
		if err != nil {
			broken = append(broken, fmt.Sprintf("matrix %s is not readable: %s", filepath.Base(dir), plain.Line(err.Error())))
			continue
		}
		view := newMatrixView(m, link)
		page, err := view.html("../../index.html")
		if err != nil {
			return nil, nil, fmt.Errorf("page of matrix %s: %w", m.ID, err)
		}
		to := filepath.Join(out, MatricesDir, m.ID)
		if err := os.MkdirAll(to, 0o755); err != nil {
			return nil, nil, err
		}
		if err := errors.Join(WriteFile(filepath.Join(to, "index.html"), page), WriteJSON(filepath.Join(to, MatrixFile), m)); err != nil {
			return nil, nil, err
		}
		list = append(list, view)
	}
	slices.SortStableFunc(list, func(a, b *matrixView) int { return b.Started.Compare(a.Started) })
	return list, broken, nil
}

// writeSection writes the pages of a section, and removes other pages of HTML in its folder:
// they are of before.
func writeSection(pages *template.Template, s Section, out string) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	before, err := filepath.Glob(filepath.Join(out, "*.html"))
	if err != nil {
		return err
	}
	for _, page := range before {
		if err := os.Remove(page); err != nil {
			return err
		}
	}
	for _, p := range s.Pages {
		body, err := toHTML(p.Markdown)
		if err != nil {
			return err
		}
		var page bytes.Buffer
		if err := pages.ExecuteTemplate(&page, "page.html", map[string]any{"Title": p.Title, "Body": body, "First": p.File == "index"}); err != nil {
			return err
		}
		if err := WriteFile(filepath.Join(out, p.File+".html"), page.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func protocols(rows []dashRow) []string {
	var names []string
	for _, r := range rows {
		if r.Protocol != "" && !slices.Contains(names, r.Protocol) {
			names = append(names, r.Protocol)
		}
	}
	slices.Sort(names)
	return names
}

// writeRunPage writes the page of one run, with the files it links to.
func writeRunPage(pages *template.Template, row Row, out string) (dashRow, error) {
	d := dashRow{Row: row}
	if row.State == Unfinished {
		return d, nil // there is nothing to show yet, or nothing to rely on
	}
	text, err := stored.ReadFile(filepath.Join(row.Dir, MarkdownFile), stored.MostText)
	if err != nil {
		return d, err
	}
	if d.Fix, err = readFixStatus(row); err != nil {
		return d, err
	}
	d.Page = true
	body, err := toHTML(text)
	if err != nil {
		return d, err
	}
	logs, err := copyRun(row.Dir, out)
	if err != nil {
		return d, err
	}
	var page bytes.Buffer
	if err := pages.ExecuteTemplate(&page, "run.html", map[string]any{"Run": d, "Body": body, "Logs": logs}); err != nil {
		return d, err
	}
	return d, WriteFile(filepath.Join(out, "index.html"), page.Bytes())
}

// readFixStatus answers open for a failure that nobody has written about.
func readFixStatus(row Row) (FixStatus, error) {
	var fix FixStatus
	err := stored.ReadJSON(filepath.Join(row.Dir, StatusFile), &fix)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fix, err
	}
	if fix.Status == "" && stateClass(row.State) == "fail" {
		fix.Status = "open"
	}
	return fix, nil
}

// toHTML renders Markdown. Markup inside it is shown, not obeyed: reports
// quote brokers and agents.
func toHTML(markdown []byte) (template.HTML, error) {
	var out bytes.Buffer
	if err := goldmark.New(goldmark.WithExtensions(extension.GFM)).Convert(markdown, &out); err != nil {
		return "", err
	}
	return template.HTML(out.String()), nil
}

// copyRun copies what a run's page links to, and answers its logs.
func copyRun(from, to string) ([]LogFile, error) {
	logs := []LogFile{}
	picture, err := stored.ReadFile(filepath.Join(from, TimelineFile), stored.MostText)
	if err != nil {
		return nil, err
	}
	if err := checkSVG(picture); err != nil {
		return nil, fmt.Errorf("%s: %w", TimelineFile, err)
	}
	for _, name := range []string{ReportFile, TimelineFile, VerdictFile, SealFile} {
		if err := copyFile(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return nil, err
		}
	}
	root := filepath.Join(from, EvidenceDir, LogsDir)
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || !isLog(d.Name()) {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		logs = append(logs, LogFile{Path: filepath.ToSlash(rel), Bytes: info.Size()})
		return copyFile(path, filepath.Join(to, rel))
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return logs, err
}

// isLog reports whether a file is a log by its name, or one that was packed. A
// browser runs no .log.
func isLog(name string) bool {
	return stored.IsID(name) && (strings.HasSuffix(name, ".log") || strings.HasSuffix(name, ".log.gz"))
}

func copyFile(from, to string) error {
	in, err := stored.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	if same(from, to) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}

func same(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// SummaryLine is a run's headline without its state, which stands beside it.
func (r dashRow) SummaryLine() string {
	return strings.TrimPrefix(strings.TrimPrefix(r.Headline, string(r.State)), ": ")
}
