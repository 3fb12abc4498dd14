package reports

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

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

// NewScrubber answers a scrubber that also knows these secrets. They are taken
// out only where a value stands: a password may be an everyday word.
func NewScrubber(secrets ...string) *Scrubber {
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
	secretName = `[\w.\-]*(?:password|passwd|passphrase|pwd|secret|token|authorization|api[_-]?key|private[_-]?key|credentials?)`
	colour     = `(?:\x1b\[[0-9;]*m)*`
	// secretKey is the name, its closing quote, and what separates it from the value.
	secretKey = `(?i:\b` + secretName + `)` + colour + `\\*["']?` + colour + `\s*(?:=>|=|:)\s*` + colour
	// wrapped is a key whose value Rust's Debug may have put into an option or
	// called bytes.
	wrapped = `(` + secretKey + `(?:Some\()?b?)`
	plain   = `(` + secretKey + `)`
)

// secretForms are the shapes of a value behind a secret's name. Each captures
// what stays before and after the value.
var secretForms = compileAll(
	wrapped+`(\\+")(?:.*?)(\\+")`,
	wrapped+`(")(?:[^"\\]|\\.)*(")`,
	wrapped+`(')[^']*(')`,
	wrapped+`(\[)[0-9, ]+(\])`,
	plain+`((?i:bearer|basic|digest)\s+)[^\s"',;]+()`,
	plain+`()[^\s"'\\,;:{}()\[\]&<>=\x1b]+([\s,;)}\]&\x1b]|$)`,
	`()(://[^/\s:@"']*:)[^/\s@"']+(@)`,
)

// plainWords are values that give nothing away and tell a reader something.
var plainWords = regexp.MustCompile(`^(?i:true|false|null|none|nil|bearer|basic|digest|cancellationtoken)$`)

// hints are in every line that can hold a named secret; most lines have none.
var hints = [][]byte{[]byte("pass"), []byte("pwd"), []byte("secret"), []byte("token"),
	[]byte("authorization"), []byte("key"), []byte("credential"), []byte("://")}

// NamesSecret reports whether a name is that of a secret.
func NamesSecret(name string) bool { return secretKeyName.MatchString(name) }

var secretKeyName = regexp.MustCompile(`(?i)^` + secretName + `|(?:^|[_.\-])pass$`)

func compileAll(patterns ...string) []*regexp.Regexp {
	all := make([]*regexp.Regexp, len(patterns))
	for i, p := range patterns {
		all[i] = regexp.MustCompile(p)
	}
	return all
}

// Line answers a line without its secrets.
func (s *Scrubber) Line(line []byte) []byte {
	if hasHint(line) {
		for _, form := range secretForms {
			line = form.ReplaceAllFunc(line, func(match []byte) []byte { return replaceValue(form, match) })
		}
	}
	for _, l := range s.literals {
		if bytes.Contains(line, l.text) {
			line = l.form.ReplaceAll(line, []byte("${1}"+scrubbedValue+"${2}"))
		}
	}
	return line
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

func replaceValue(form *regexp.Regexp, match []byte) []byte {
	m := form.FindSubmatch(match)
	before, after := string(m[1])+string(m[2]), string(m[3])
	if plainWords.MatchString(strings.TrimSpace(strings.TrimSuffix(string(match[len(before):]), after))) {
		return match
	}
	return []byte(before + scrubbedValue + after)
}

// Logs scrubs every file under the run directory's evidence/logs in place and
// answers how many lines changed.
func (s *Scrubber) Logs(dir string) (int, error) {
	changed := 0
	logs := filepath.Join(dir, EvidenceDir, LogsDir)
	err := filepath.WalkDir(logs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		n, err := s.file(path)
		changed += n
		if err != nil {
			return fmt.Errorf("scrub %s: %w", path, err)
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	return changed, err
}

func (s *Scrubber) file(path string) (changed int, err error) {
	in, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	out, err := os.CreateTemp(filepath.Dir(path), ".scrub.*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(out.Name())
	defer out.Close()
	if changed, err = s.copy(out, in); err != nil || changed == 0 {
		return 0, err
	}
	if err := errors.Join(out.Chmod(0o644), out.Close(), in.Close()); err != nil {
		return 0, err
	}
	return changed, os.Rename(out.Name(), path)
}

func (s *Scrubber) copy(to io.Writer, from io.Reader) (changed int, err error) {
	r, w := bufio.NewReaderSize(from, 1<<16), bufio.NewWriterSize(to, 1<<16)
	for {
		line, rerr := r.ReadBytes('\n')
		clean := s.Line(line)
		if !bytes.Equal(clean, line) {
			changed++
		}
		if _, err := w.Write(clean); err != nil {
			return changed, err
		}
		if rerr == io.EOF {
			return changed, w.Flush()
		}
		if rerr != nil {
			return changed, rerr
		}
	}
}
