package plain

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, text, line string }{
		{"", "", ""},
		{"größer → 3 µs", "größer → 3 µs", "größer → 3 µs"},
		{"one\n\ttwo", "one\n\ttwo", "one  two"},
		{"\x1b[31mred\x1b[0m", "red", "red"},
		{"\x1b[2J\x1b]0;title\a", "␛[2J␛]0;title␇", "␛[2J␛]0;title␇"},
		{"a\rb\b\x00\x7f", "a␍b␈␀␡", "a␍b␈␀␡"},
		{"\u009b2J\u202egnp\u2028", "�2J�gnp�", "�2J�gnp�"},
		{"a\u200bb\u00adc\ufeff\U000e0041\u2060", "a�b�c���", "a�b�c���"},
		{"\xff\xfe", "\ufffd\ufffd", "\ufffd\ufffd"},
	} {
		if got := Text(c.in); got != c.text {
			t.Errorf("Text(%q) is %q, want %q", c.in, got, c.text)
		}
		if got := Line(c.in); got != c.line {
			t.Errorf("Line(%q) is %q, want %q", c.in, got, c.line)
		}
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\x1b[1mb\x1b[\x1b[1m2J")
	f.Fuzz(func(t *testing.T, s string) {
		if text := Text(s); strings.ContainsAny(text, "\x1b\r\a\b\u009b") {
			t.Errorf("Text(%q) is %q", s, text)
		}
		if strings.ContainsAny(Line(s), "\n\t") {
			t.Errorf("Line(%q) has a break", s)
		}
	})
}

func TestJSON(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"a":"b"}`, `{"a":"b"}`},
		{"{\r\n\t\"a\": 1\r\n}", "{ \n\t\"a\": 1 \n}"},
		{`["\u001b[2J","\r","\b\f","\u0000"]`, `["␛[2J","␍","␈␌","␀"]`},
		{`["\\u001b","\"\u000a\n","\u00e9","\ud83d\ude00"]`, `["\\u001b","\"\u000a\n","\u00e9","\ud83d\ude00"]`},
		{"[\"\u202egnp\u009b\",\"größer\"]", `["�gnp�","größer"]`},
		{`["\u202e\u009b"]`, `["��"]`},
		{`["a\udb40\udc41\u200bb","\udb40","\udb40\u0041"]`, `["a��b","\udb40","\udb40\u0041"]`},
		{`["cut \u00`, `["cut \u00`},
		{`["cut \`, `["cut \`},
	} {
		if got := string(JSON([]byte(c.in))); got != c.want {
			t.Errorf("JSON(%q) is %q, want %q", c.in, got, c.want)
		}
	}
}

// JSON that was made plain means the same as before, except for characters that are
// not plain.
func FuzzJSON(f *testing.F) {
	f.Add(`{"a":["\u001b[1m","\\u001b","\r\n",1e9,null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var before, after any
		if json.Unmarshal([]byte(text), &before) != nil {
			return
		}
		if err := json.Unmarshal(JSON([]byte(text)), &after); err != nil {
			t.Fatalf("JSON(%q) is none: %v", text, err)
		}
		collided := false
		if want := withPictures(before, &collided); !collided && !reflect.DeepEqual(after, want) {
			t.Errorf("JSON(%q) is %#v, want %#v", text, after, want)
		}
	})
}

// withPictures is v with plain texts. Two keys may become one.
func withPictures(v any, collided *bool) any {
	switch v := v.(type) {
	case string:
		return strings.Map(func(r rune) rune {
			if r == '\n' || r == '\t' {
				return r
			}
			return picture(r)
		}, v)
	case []any:
		for i := range v {
			v[i] = withPictures(v[i], collided)
		}
	case map[string]any:
		out := map[string]any{}
		for key, item := range v {
			out[withPictures(key, collided).(string)] = withPictures(item, collided)
		}
		*collided = *collided || len(out) < len(v)
		return out
	}
	return v
}

func TestCut(t *testing.T) {
	for _, c := range []struct {
		text       string
		most       int
		cut, bytes string
	}{
		{"", 3, "", ""},
		{"abc", 3, "abc", "abc"},
		{"abcd", 3, "ab…", "abc…"},
		{"aäöü", 3, "aä…", "aä…"}, // two bytes each
		{"äöü", 3, "äöü", "ä…"},
		{"äöü", 1, "…", "…"},
		{"abc", 0, "…", "…"},
	} {
		if cut, bytes := Cut(c.text, c.most), CutBytes(c.text, c.most); cut != c.cut || bytes != c.bytes {
			t.Errorf("%q at %d: %q and %q, want %q and %q", c.text, c.most, cut, bytes, c.cut, c.bytes)
		}
	}
}
