package skills

import (
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/near"
)

// bodyTokens is what the body of a SKILL.md may cost: hosts keep that much of
// one when they shorten a conversation.
const bodyTokens = 5000

// A Vocabulary is what a skill's text may name between backticks.
type Vocabulary struct {
	Names   map[string]bool         // tools, parameters, answers' fields, scenarios, faults, claims, states, …
	Command func(line string) error // is "rmq-mcp list claims" a command line; the error says what is wrong with it
}

// A Problem is one thing that a skill has wrong.
type Problem struct {
	File string // references/plan.md
	Line int    // 0: of the file as a whole
	What string // and what to write instead
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.File + ": " + p.What
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.What)
}

// Lint looks at all of a skill. Name is its folder's.
func Lint(folder fs.FS, name string, v Vocabulary) ([]Problem, error) {
	l := &linter{vocabulary: v, mentioned: map[string]bool{}}
	if _, err := fs.Stat(folder, entry); err != nil {
		return nil, fmt.Errorf("lint skill %s: %w; a skill is a folder with a SKILL.md", name, err)
	}
	s, err := read(folder)
	if s.Files == nil {
		return nil, fmt.Errorf("lint skill %s: %w", name, err)
	}
	for _, f := range s.Files {
		l.files = append(l.files, f.Path)
	}
	if err != nil {
		l.say(entry, 0, "%v", err)
	} else {
		l.head(s, name)
	}
	for _, f := range s.Files {
		l.text(f)
	}
	l.references()
	return l.found, nil
}

type linter struct {
	vocabulary Vocabulary
	files      []string        // of the folder
	mentioned  map[string]bool // references, by SKILL.md
	found      []Problem
}

func (l *linter) say(file string, line int, format string, args ...any) {
	l.found = append(l.found, Problem{file, line, fmt.Sprintf(format, args...)})
}

func (l *linter) head(s Skill, folder string) {
	f, body, _ := split(s.Files[0].Text)
	for _, what := range f.problems(folder) {
		l.say(entry, 0, "%s", what)
	}
	if n := Tokens(body); n >= bodyTokens {
		l.say(entry, 0, "its body costs about %d tokens; keep it under %d, and move what is needed at one step into references/", n, bodyTokens)
	}
	first, _, _ := strings.Cut(body, "\n## ")
	if !strings.Contains(strings.ToLower(first), "gates") {
		l.say(entry, 0, "its gates do not come first; before the first \"## \" write what holds throughout, and call it gates")
	}
}

// references are one level deep, there, and each mentioned where a reader begins.
func (l *linter) references() {
	for _, name := range l.files[1:] {
		switch {
		case strings.Count(name, "/") > 1:
			l.say(name, 0, "it is more than one level deep; move it to %s", path.Join("references", path.Base(name)))
		case !l.mentioned[name]:
			l.say(entry, 0, "it does not mention %s; say when to read it, or remove it", name)
		}
	}
}

var (
	nameForm  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)
	fence     = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	span      = regexp.MustCompile("`([^`]+)`")
	reference = regexp.MustCompile(`\b(references|scripts|assets)/[A-Za-z0-9_./-]*[A-Za-z0-9_]`)
	command   = regexp.MustCompile(`(?m)^ *(rmq-mcp [^\n]*)`)
	named     = regexp.MustCompile(`[A-Za-z][A-Za-z0-9_./@-]*[A-Za-z0-9]|[A-Za-z]`)
	ours      = regexp.MustCompile(`^(mqtt|mq9)/`)                               // a scenario of the library
	anything  = regexp.MustCompile(`^(node-[0-9N]+|v[0-9][0-9.]*|[SHC][0-9]+)$`) // one of many, an id
)

// text looks at what a text names.
func (l *linter) text(f File) {
	text := f.Text
	for _, at := range reference.FindAllStringIndex(text, -1) {
		name := text[at[0]:at[1]]
		l.mentioned[name] = l.mentioned[name] || f.Path == entry
		if !slices.Contains(l.files, name) && path.Ext(name) == ".md" {
			l.say(f.Path, line(text, at[0]), "%s is not there", name)
		}
	}
	for _, at := range command.FindAllStringSubmatchIndex(text, -1) {
		l.command(f.Path, line(text, at[2]), text[at[2]:at[3]])
	}
	prose := fence.ReplaceAllStringFunc(text, func(block string) string { return strings.Repeat("\n", strings.Count(block, "\n")) })
	for _, at := range span.FindAllStringSubmatchIndex(prose, -1) {
		l.span(f.Path, line(prose, at[0]), strings.Join(strings.Fields(prose[at[2]:at[3]]), " "))
	}
}

func (l *linter) command(file string, line int, text string) {
	text, _, _ = strings.Cut(text, "   ") // what it is for
	if err := l.vocabulary.Command(strings.TrimSpace(text)); err != nil {
		l.say(file, line, "`%s`: %v", text, err)
	}
	for _, name := range strings.Fields(text) {
		if ours.MatchString(name) && !l.vocabulary.Names[name] {
			l.say(file, line, "`%s`: there is no scenario %s; `rmq-mcp list scenarios` has them", text, name)
		}
	}
}

// span looks at what is between two backticks: a command line, a file of the
// skill, or names.
func (l *linter) span(file string, line int, text string) {
	switch {
	case text == "rmq-mcp", reference.MatchString(text), text == entry:
	case strings.HasPrefix(text, "rmq-mcp "):
		l.command(file, line, text)
	default:
		for _, name := range named.FindAllString(text, -1) {
			if !l.known(name) {
				l.say(file, line, "`%s` is no tool, parameter, scenario, fault, claim or other name of rmq-mcp%s; what is not ours goes without backticks",
					name, near.Hint(name, slices.Sorted(keysOf(l.vocabulary.Names)), ""))
			}
		}
	}
}

// known reports whether a name is ours, also one by the names on its way:
// config.arm.
func (l *linter) known(name string) bool {
	if l.vocabulary.Names[name] || anything.MatchString(name) {
		return true
	}
	parts := strings.Split(name, ".")
	return len(parts) > 1 && !slices.ContainsFunc(parts, func(part string) bool { return !l.known(part) })
}

func line(text string, at int) int { return 1 + strings.Count(text[:at], "\n") }

func keysOf[V any](m map[string]V) iter.Seq[string] { return maps.Keys(m) }
