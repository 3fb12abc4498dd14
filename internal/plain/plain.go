// Package plain makes text of a stranger (a broker's log, an error of a client
// library, a stored run) safe to show on a terminal and in a table: it cannot move
// the cursor, hide what stands there, or begin a row of its own.
package plain

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Text keeps line breaks and tabs. It drops colours and shows any other control
// character as the picture that Unicode has of it: ␛ for an escape. Characters that
// change the direction of writing, or that nobody sees, become �.
func Text(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return picture(r)
	}, colours.ReplaceAllString(s, ""))
}

// isPlain is true of most texts.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; (c < ' ' || c > '~') && c != '\n' && c != '\t' {
			return false
		}
	}
	return true
}

// Line is Text on one line: a break or a tab becomes a space.
func Line(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return ' '
		}
		return r
	}, Text(s))
}

// Cut is the beginning of a text: at most so many characters, the last of them … where the
// text goes on.
func Cut(s string, most int) string {
	if runes := []rune(s); len(runes) > most {
		return string(runes[:max(most-1, 0)]) + "…"
	}
	return s
}

// ShortLine is how many characters of a reason one line shows. The report has it whole.
const ShortLine = 240

// Short is the beginning of a text, as one line of at most [ShortLine] characters.
func Short(s string) string { return Cut(Line(s), ShortLine) }

// Cell makes a text fit into a cell of a Markdown table.
func Cell(s string) string { return cells.Replace(s) }

var cells = strings.NewReplacer("|", "\\|", "\n", " ")

// CutBytes is the beginning of a text: at most so many bytes, and then … where the text goes
// on. No character is cut in two.
func CutBytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

var colours = regexp.MustCompile(`\x1b\[[0-9;:]*m`)

func picture(r rune) rune {
	switch {
	case r < ' ':
		return '␀' + r
	case r == 0x7f:
		return '␡'
	case r >= 0x80 && r < 0xa0, // the control characters of ISO 6429
		r == '\u2028', r == '\u2029', // line and paragraph separators
		r == '\u061c', r >= '\u200e' && r <= '\u200f', r >= '\u202a' && r <= '\u202e', r >= '\u2066' && r <= '\u2069':
		return '�'
	case r == '\u00ad', r >= '\u200b' && r <= '\u200d', r >= '\u2060' && r <= '\u2064', r == '\ufeff',
		r >= 0xe0000 && r <= 0xe007f: // soft hyphen, of no width, tags: what nobody sees, and an agent reads
		return '�'
	}
	return r
}

// JSON makes the strings of a JSON text plain, where they stand. Text that is no
// JSON stays none.
func JSON(text []byte) []byte {
	if !bytes.Contains(text, []byte(`\`)) && isPlain(string(text)) {
		return text
	}
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		if text[i] == '\\' {
			var n int
			out, n = appendEscape(out, text[i:])
			i += n
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if r == '\r' { // outside of a string it is blank
			r = ' '
		}
		if r != '\n' && r != '\t' {
			r = picture(r)
		}
		out = utf8.AppendRune(out, r)
		i += n
	}
	return out
}

// appendEscape appends what an escape of JSON stands for where that is not plain,
// and else the escape. It returns how long the escape is.
func appendEscape(out, text []byte) ([]byte, int) {
	if len(text) < 2 {
		return append(out, text...), len(text)
	}
	switch text[1] {
	case 'b':
		return append(out, "␈"...), 2
	case 'f':
		return append(out, "␌"...), 2
	case 'r':
		return append(out, "␍"...), 2
	case 'u':
		if len(text) < 6 {
			break
		}
		r, n := escaped(text), 6
		if utf16.IsSurrogate(r) && len(text) >= 12 {
			if both := utf16.DecodeRune(r, escaped(text[6:])); both != utf8.RuneError {
				r, n = both, 12
			}
		}
		if r != '\n' && r != '\t' && picture(r) != r {
			return utf8.AppendRune(out, picture(r)), n
		}
		return append(out, text[:n]...), n
	}
	return append(out, text[:2]...), 2
}

// escaped is the character of \uXXXX, U+FFFD where it is none.
func escaped(text []byte) rune {
	code, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	if err != nil || text[0] != '\\' || text[1] != 'u' {
		return utf8.RuneError
	}
	return rune(code)
}
