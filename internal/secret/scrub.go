// Package secret keeps passwords and tokens out of all that is written down.
// Text of a stranger (a broker's log, an answer of its API, an error of a client
// library) goes through a [Scrubber] where it comes in, so that whatever quotes it
// later has no secret to give away.
package secret

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Hidden stands for a secret.
const Hidden = "[scrubbed]"

// A Scrubber takes secrets out of logs. It knows them by the name in front of
// them, as brokers print their configuration (key=value, JSON, JSON within a
// JSON string, TOML, the Debug format of Rust, HTTP headers, URLs), and by
// themselves where they are given.
type Scrubber struct {
	literals []literal
}

// A literal is a secret that is known, and where it counts as one.
type literal struct {
	text []byte
	form *regexp.Regexp
}

// New returns a scrubber that also knows these secrets. They are taken out only
// where a value stands: a password may be an everyday word.
func New(secrets ...string) *Scrubber {
	s := &Scrubber{}
	for _, secret := range secrets {
		if secret != "" {
			s.literals = append(s.literals, literal{[]byte(secret), regexp.MustCompile(
				`([=:]\s*(?:Some\()?\\*["']?|["'])` + regexp.QuoteMeta(secret) + `(\\*["']|[\s,;)}\]&@]|$)`)})
		}
	}
	return s
}

const (
	longName   = `[\w.\-]*(?:password|passwd|passphrase|pwd|secret|token|authorization|api[_-]?key|private[_-]?key|access[_-]?key|credential)(?:s|[_-]?(?:access[_-]?)?key|[_-]value)?`
	secretName = `(?:` + longName + `|(?:[\w.\-]*[._\-])?pass)`
	colour     = `(?:\x1b\[[0-9;]*m)*`
	// secretKey is the name, its closing quote, and what separates it from the value.
	secretKey = `(?i:\b` + secretName + `)` + colour + `\\*["']?` + colour + `\s*(?:=>|=|:)\s*` + colour
	// wrapped is a key whose value Rust's Debug may have put into an option or
	// called bytes.
	wrapped = `(` + secretKey + `(?:Some\()?b?)`
	bare    = `(` + secretKey + `)`
	// word is a value without quotes: what begins it cannot be part of a path of names.
	word = `[^\s"'\\,;:{}()\[\]&<>=\x1b][^\s"'\\,;{}()\[\]&<>\x1b]*`
)

// secretForms are the shapes of a value behind a secret's name. Each captures
// what stays before and after the value.
var secretForms = compileAll(
	wrapped+`(\\+")(?:.*?)(\\+")`,
	wrapped+`(")(?:[^"\\]|\\.)*(")`,
	wrapped+`(')[^']*(')`,
	wrapped+`(\[)[0-9, ]+(\])`,
	wrapped+`(\\*")(?:[^"\\]|\\.)+\\?(\s*)$`, // a line that was cut
	wrapped+`(\\*')[^']+(\s*)$`,
	bare+`((?i:bearer|basic|digest)\s+)[^\s"',;]+()`,
	bare+`()`+word+`([\s,;)}\]&\x1b]|$)`,
	bare+`()`+word+word+`(["'\\])`, // in a quoted text; one letter may be the b of b"…"
	`()(://[^/\s:@"']*:)[^/\s@"']+(@)`,
)

// plainWords are values that give nothing away and tell a reader something.
var plainWords = regexp.MustCompile(`^(?i:true|false|null|none|nil|bearer|basic|digest|cancellationtoken|` +
	`not|no|is|was|must|cannot|failed|invalid|incorrect|wrong|bad|missing|required|expired|unknown|rejected|refused|denied|unauthorized|error)$`)

// hints are in every line that can hold a named secret; most lines have none.
var hints = [][]byte{[]byte("pass"), []byte("pwd"), []byte("secret"), []byte("token"),
	[]byte("authorization"), []byte("key"), []byte("credential"), []byte("://")}

// Names reports whether a name is that of a secret.
func Names(name string) bool { return secretKeyName.MatchString(name) }

var secretKeyName = regexp.MustCompile(`(?i)^(?:` + longName + `|(?:.*[_.\-])?pass$)`)

func compileAll(patterns ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		all[i] = regexp.MustCompile(p)
	}
	return all
}

// Text returns a stranger's text, of one line or several, without its secrets and
// plain.
func (s *Scrubber) Text(text string) string {
	if text == "" {
		return ""
	}
	lines := bytes.SplitAfter([]byte(plain.Text(text)), []byte("\n"))
	for i, line := range lines {
		lines[i] = s.Line(line)
	}
	return string(bytes.Join(lines, nil))
}

// Line returns a line without its secrets.
func (s *Scrubber) Line(line []byte) []byte {
	if hasHint(line) {
		for _, form := range secretForms {
			line = replaceValues(form, line)
		}
	}
	for _, l := range s.literals {
		if bytes.Contains(line, l.text) {
			line = l.form.ReplaceAll(line, []byte("${1}"+Hidden+"${2}"))
		}
	}
	return line
}

// End returns the last lines of a text, of at most n bytes, without their secrets
// and plain. Cut says that the text begins within a line: that one is left out, for
// the name in front of a secret may be missing.
func (s *Scrubber) End(text []byte, n int, cut bool) string {
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	end := s.Text(string(text))
	if len(end) <= n {
		return end
	}
	end = end[len(end)-n:]
	if _, whole, found := strings.Cut(end, "\n"); found && whole != "" {
		return whole
	}
	return strings.ToValidUTF8(end, "") // of one line only
}

func hasHint(line []byte) bool {
	lower := bytes.ToLower(line)
	for _, h := range hints {
		if bytes.Contains(lower, h) {
			return true
		}
	}
	return false
}

// replaceValues hides what a form takes for a value, where it is one: the last name
// of a path (mod::token: …) is no key.
func replaceValues(form *regexp.Regexp, line []byte) []byte {
	var out []byte
	done := 0
	for _, at := range form.FindAllSubmatchIndex(line, -1) {
		start, from, to := at[0], at[5], at[6] // the value is between the second group and the third
		path := bytes.HasSuffix(line[:start], []byte("::")) && !bytes.ContainsRune(line[start:from], '=')
		if path || plainWords.Match(bytes.TrimSpace(line[from:to])) {
			continue
		}
		out = append(append(out, line[done:from]...), Hidden...)
		done = to
	}
	if done == 0 {
		return line
	}
	return append(out, line[done:]...)
}
