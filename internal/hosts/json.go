package hosts

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// blanks are the characters that mean nothing in JSON.
const blanks = " \t\r\n"

// jsonText is JSON with comments and trailing commas, or plain JSON where a
// host reads nothing else.
type jsonText struct{ plain bool }

func (j jsonText) decode(text []byte) (map[string]any, error) {
	if len(bytes.Trim(text, blanks)) == 0 {
		return map[string]any{}, nil // an editor's new file
	}
	value, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	var decoded any
	if bad := new(json.SyntaxError); j.plain && errors.As(json.Unmarshal(text, &decoded), &bad) {
		at := max(0, int(bad.Offset)-1)
		return nil, fmt.Errorf("line %d, column %d: %w, and this host reads plain JSON: no comments, no comma before a bracket that closes",
			lineOf(text, at), 1+at-lineStart(text, at), bad)
	}
	value.Standardize()
	if err := json.Unmarshal(value.Pack(), &decoded); err != nil {
		return nil, err
	}
	table, ok := decoded.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("line %d: expected an object, in braces", lineOf(text, value.StartOffset))
	}
	return table, nil
}

func (j jsonText) put(text []byte, path []string, fields []field) ([]byte, error) {
	if len(bytes.Trim(text, blanks)) == 0 {
		text = []byte("{}" + newline(text))
	}
	// From the deepest table that there is, one member is added.
	for n := len(path); n >= 0; n-- {
		switch _, found, err := jsonFind(text, path[:n]); {
		case err != nil:
			return nil, err
		case found && n == len(path):
			return jsonFields(text, path, fields)
		case found:
			value := any(fields)
			for i := len(path) - 1; i > n; i-- {
				value = []field{{path[i], value}}
			}
			return jsonAdd(text, path[:n], field{path[n], value})
		}
	}
	return text, nil // not reached: the whole text is a table
}

// jsonFields sets the fields of a table that there is, and leaves those alone
// that say the same already.
func jsonFields(text []byte, path []string, fields []field) ([]byte, error) {
	for _, f := range fields {
		at := append(path[:len(path):len(path)], f.name)
		old, found, err := jsonFind(text, at)
		if err != nil {
			return nil, err
		}
		if !found {
			if text, err = jsonAdd(text, path, f); err != nil {
				return nil, err
			}
			continue
		}
		was := old.Clone()
		was.Standardize()
		was.BeforeExtra, was.AfterExtra = nil, nil
		if now := jsonValue(f.value, "", "", ""); !jsonSame(was.Pack(), []byte(now)) {
			text = splice(text, old.StartOffset, old.EndOffset, now)
		}
	}
	return text, nil
}

func jsonSame(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// jsonFind answers the value at path. A table on the way that is something
// else, or that is there twice, is an error.
func jsonFind(text []byte, path []string) (hujson.Value, bool, error) {
	value, err := hujson.Parse(bytes.Clone(text))
	if err != nil {
		return value, false, err
	}
	for n, key := range path {
		object, ok := value.Value.(*hujson.Object)
		if !ok {
			return value, false, fmt.Errorf("line %d: %q is no object, in braces; %w", lineOf(text, value.StartOffset), strings.Join(path[:n], "."), errByHand)
		}
		found := -1
		for i, member := range object.Members {
			if member.Name.Value.(hujson.Literal).String() != key {
				continue
			}
			if found >= 0 {
				return value, false, fmt.Errorf("line %d: %q is there a second time; %w", lineOf(text, member.Name.StartOffset), key, errByHand)
			}
			found = i
		}
		if found < 0 {
			return value, false, nil
		}
		value = object.Members[found].Value
	}
	return value, true, nil
}

func (jsonText) line(text []byte, path []string) int {
	value, _, _ := jsonFind(text, path) // or the one on the way at which it ended
	return lineOf(text, value.StartOffset)
}

// jsonAdd adds a member at the end of the object at path, in the form that the
// text has around it.
func jsonAdd(text []byte, path []string, f field) ([]byte, error) {
	value, _, err := jsonFind(text, path)
	if err != nil {
		return nil, err
	}
	object, ok := value.Value.(*hujson.Object)
	if !ok {
		return nil, fmt.Errorf("line %d: %q is no object, in braces; %w", lineOf(text, value.StartOffset), strings.Join(path, "."), errByHand)
	}
	nl, unit, closing := newline(text), jsonIndent(text), value.EndOffset-1
	end := len(bytes.TrimRight(text[:closing], blanks)) // of the last thing in it, a comment perhaps
	if len(object.Members) == 0 {
		outer := indentOf(text, value.StartOffset)
		member := nl + outer + unit + jsonMember(f, outer+unit, unit, nl)
		if bytes.IndexByte(text[end:closing], '\n') < 0 {
			return splice(text, end, closing, member+nl+outer), nil
		}
		return splice(text, end, end, member), nil
	}
	last := object.Members[len(object.Members)-1]
	comma := last.Value.AfterExtra != nil // hujson's sign of a trailing comma
	member := " " + jsonMember(f, "", "", "")
	if bytes.IndexByte(text[value.StartOffset:closing], '\n') >= 0 {
		indent := indentOf(text, last.Name.StartOffset)
		member = nl + indent + jsonMember(f, indent, unit, nl)
	}
	if comma {
		return splice(text, end, end, member+","), nil
	}
	text = splice(text, end, end, member)
	return splice(text, last.Value.EndOffset, last.Value.EndOffset, ","), nil
}

// jsonIndent is by how much the text indents: as its first indented line does.
func jsonIndent(text []byte) string {
	for line := range bytes.Lines(text) {
		rest := bytes.TrimLeft(line, " \t")
		if indent := line[:len(line)-len(rest)]; len(indent) > 0 && len(rest) > 0 && rest[0] == '"' {
			return string(indent)
		}
	}
	return "  "
}

// indentOf is the white space before the line of an offset.
func indentOf(text []byte, at int) string {
	line := text[lineStart(text, at):]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// jsonMember writes a member. Where lines end in nothing it is one line.
func jsonMember(f field, indent, unit, nl string) string {
	return jsonValue(f.name, "", "", "") + ": " + jsonValue(f.value, indent, unit, nl)
}

func jsonValue(value any, indent, unit, nl string) string {
	switch v := value.(type) {
	case []string:
		items := []string{}
		for _, item := range v {
			items = append(items, jsonValue(item, "", "", ""))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case []field:
		members := []string{}
		for _, f := range v {
			members = append(members, jsonMember(f, indent+unit, unit, nl))
		}
		if nl == "" {
			return "{" + strings.Join(members, ", ") + "}"
		}
		between := nl + indent + unit
		return "{" + between + strings.Join(members, ","+between) + nl + indent + "}"
	}
	return string(hujson.String(fmt.Sprint(value)))
}
