package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"
)

// tomlText is TOML, with a table for each server.
type tomlText struct{}

func (tomlText) decode(text []byte) (map[string]any, error) {
	table := map[string]any{}
	err := toml.Unmarshal(text, &table)
	if bad := new(toml.DecodeError); errors.As(err, &bad) {
		line, column := bad.Position()
		return nil, fmt.Errorf("line %d, column %d: %s", line, column, strings.TrimPrefix(bad.Error(), "toml: "))
	}
	return table, err
}

// A tomlLine is a header, or a key with its value.
type tomlLine struct {
	header   bool
	path     []string // of the table or of the value, from the top
	section  []string // the table in which it stands
	from, to int      // its text, without a comment behind it
}

// tomlLines are the headers and values of a text that decodes.
func tomlLines(text []byte) ([]tomlLine, error) {
	var parser unstable.Parser
	parser.Reset(text)
	var lines []tomlLine
	var section []string
	for parser.NextExpression() {
		node, at := parser.Expression(), 0
		key := []string{}
		for keys := node.Key(); keys.Next(); {
			at = int(keys.Node().Raw.Offset + keys.Node().Raw.Length)
			key = append(key, string(keys.Node().Data))
		}
		if node.Kind != unstable.KeyValue {
			section = key
			lines = append(lines, tomlLine{header: true, path: key, section: key, from: lineStart(text, at), to: at})
			continue
		}
		from := int(node.Raw.Offset)
		lines = append(lines, tomlLine{path: slices.Concat(section, key), section: section, from: from, to: from + int(node.Raw.Length)})
	}
	return lines, parser.Error()
}

func (t tomlText) put(text []byte, path []string, fields []field) ([]byte, error) {
	table, err := t.decode(text)
	if err != nil {
		return nil, err
	}
	lines, err := tomlLines(text)
	if err != nil {
		return nil, err
	}
	if err := tomlInline(text, lines, path); err != nil {
		return nil, err
	}
	nl := newline(text)
	entry, found := lookup(table, path)
	if !found {
		return tomlAppend(text, path, fields, nl), nil
	}
	header := slices.IndexFunc(lines, func(l tomlLine) bool { return l.header && slices.Equal(l.path, path) })
	// From the last to the first, so that offsets hold.
	edits := []tomlEdit{}
	for _, f := range fields {
		at := slices.IndexFunc(lines, func(l tomlLine) bool { return slices.Equal(l.path, append(path[:len(path):len(path)], f.name)) })
		switch {
		case at >= 0 && fmt.Sprint(entry[f.name]) == fmt.Sprint(plain(f.value)):
		case at >= 0:
			edits = append(edits, tomlEdit{lines[at].from, lines[at].to, tomlValue(f)})
		case header >= 0:
			end := lineEnd(text, lines[header].to)
			edits = append(edits, tomlEdit{end, end, tomlValue(f) + nl})
		default:
			return nil, fmt.Errorf("%s is not written as a table [%s]; %w", Name, tomlKey(path), errByHand)
		}
	}
	slices.SortStableFunc(edits, func(a, b tomlEdit) int { return b.from - a.from })
	for _, e := range edits {
		text = splice(text, e.from, e.to, e.insert)
	}
	return text, nil
}

func (tomlText) line(text []byte, path []string) int {
	lines, _ := tomlLines(text)
	for _, l := range lines {
		// Itself, or an inline table around it.
		if slices.Equal(l.path, path) || !l.header && len(l.path) < len(path) && slices.Equal(l.path, path[:len(l.path)]) {
			return lineOf(text, l.from)
		}
	}
	return 1 // not reached: the value is there
}

type tomlEdit struct {
	from, to int
	insert   string
}

// tomlInline refuses a table on the way to path that is written as a value.
func tomlInline(text []byte, lines []tomlLine, path []string) error {
	for _, l := range lines {
		if !l.header && len(l.path) <= len(path) && slices.Equal(l.path, path[:len(l.path)]) {
			return fmt.Errorf("line %d: %s is written as an inline table; %w, as a table [%s]", lineOf(text, l.from), tomlKey(l.path), errByHand, tomlKey(path))
		}
	}
	return nil
}

// tomlAppend adds a table at the end, an empty line before it.
func tomlAppend(text []byte, path []string, fields []field, nl string) []byte {
	out := strings.Builder{}
	if len(text) > 0 && text[len(text)-1] != '\n' {
		out.WriteString(nl)
	}
	if len(bytes.TrimSpace(text)) > 0 && !bytes.HasSuffix(text, []byte(nl+nl)) {
		out.WriteString(nl)
	}
	out.WriteString("[" + tomlKey(path) + "]" + nl)
	for _, f := range fields {
		out.WriteString(tomlValue(f) + nl)
	}
	return append(slices.Clone(text), out.String()...)
}

func (t tomlText) drop(text []byte, path []string) ([]byte, error) {
	lines, err := tomlLines(text)
	if err != nil {
		return nil, err
	}
	if err := tomlInline(text, lines, path[:len(path)-1]); err != nil {
		return nil, err
	}
	within := func(l tomlLine) bool { return len(l.path) >= len(path) && slices.Equal(l.path[:len(path)], path) }
	for i := len(lines) - 1; i >= 0; i-- {
		if !within(lines[i]) {
			continue
		}
		// A table goes from its header to its last value, with the comments
		// between: those behind it belong to what follows.
		last, first := i, i
		for first > 0 && !lines[first].header && within(lines[first-1]) {
			first--
		}
		from, to := lineStart(text, lines[first].from), lineEnd(text, lines[last].to)
		blank := lineStart(text, max(0, from-1))
		if from > 0 && len(bytes.TrimSpace(text[blank:from])) == 0 && len(bytes.TrimSpace(text[to:lineEnd(text, to)])) == 0 {
			from = blank // the empty line before it
		}
		text = splice(text, from, to, "")
		i = first
	}
	return text, nil
}

// tomlKey writes a dotted key whose parts need no quotes.
func tomlKey(path []string) string { return strings.Join(path, ".") }

func tomlValue(f field) string {
	list, ok := f.value.([]string)
	if !ok {
		return f.name + " = " + tomlString(fmt.Sprint(f.value))
	}
	items := []string{}
	for _, item := range list {
		items = append(items, tomlString(item))
	}
	return f.name + " = [" + strings.Join(items, ", ") + "]"
}

// tomlString is a literal string, in which a Windows path needs no escapes, or
// else a basic one: https://toml.io/en/v1.0.0#string.
func tomlString(s string) string {
	plain := !strings.ContainsAny(s, "\\\"'") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	literal := !strings.Contains(s, "'") && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
	switch {
	case plain:
		return `"` + s + `"`
	case literal:
		return "'" + s + "'"
	}
	out := strings.Builder{}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			out.WriteString(`\` + string(r))
		case r < ' ' || r == 0x7f:
			fmt.Fprintf(&out, `\u%04X`, r)
		default:
			out.WriteRune(r)
		}
	}
	return `"` + out.String() + `"`
}
