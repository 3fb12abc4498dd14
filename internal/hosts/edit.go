package hosts

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// A syntax edits a text of one language. The parts that an edit does not concern keep
// their bytes.
type syntax interface {
	// decode answers what a text says. Its errors name line and column.
	decode(text []byte) (map[string]any, error)
	// put makes the table at path hold the fields. Others that it has stay.
	put(text []byte, path []string, fields []field) ([]byte, error)
	// drop takes the table at path away, and the tables around it that are
	// empty then.
	drop(text []byte, path []string) ([]byte, error)
	// line is the number of the line, from 1, of the value at path.
	line(text []byte, path []string) int
}

// A field is a value and its name: a string, a []string or a []field.
type field struct {
	name  string
	value any
}

// errByHand is of a text whose form is not edited here.
var errByHand = errors.New("edit it by hand")

// put edits a text, and decodes it before and after: an edit that changed
// anything else is refused.
func put(s syntax, text []byte, path []string, fields []field) ([]byte, error) {
	want, err := s.decode(text)
	if err != nil {
		return nil, err
	}
	out, err := s.put(text, path, fields)
	if err != nil {
		return nil, err
	}
	at := want
	for _, key := range path {
		next, ok := at[key].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[key] = next
		}
		at = next
	}
	for _, f := range fields {
		at[f.name] = plain(f.value)
	}
	return out, same(s, out, want, nil)
}

// drop is put for the removal of a table.
func drop(s syntax, text []byte, path []string) ([]byte, error) {
	want, err := s.decode(text)
	if err != nil {
		return nil, err
	}
	out, err := s.drop(text, path)
	if err != nil {
		return nil, err
	}
	if parent, ok := lookup(want, path[:len(path)-1]); ok {
		delete(parent, path[len(path)-1])
	}
	return out, same(s, out, want, path)
}

// same checks that a text says what it should. Empty tables on the way to path
// make no difference.
func same(s syntax, text []byte, want map[string]any, path []string) error {
	got, err := s.decode(text)
	if err != nil {
		return fmt.Errorf("the edited text would be broken (%w); %w", err, errByHand)
	}
	prune(want, path)
	prune(got, path)
	if !reflect.DeepEqual(got, want) {
		return fmt.Errorf("an edit would change more than the entry of %s; %w", Name, errByHand)
	}
	return nil
}

func prune(table map[string]any, path []string) {
	for n := len(path); n > 0; n-- {
		parent, ok := lookup(table, path[:n-1])
		if child, is := parent[path[n-1]].(map[string]any); ok && is && len(child) == 0 {
			delete(parent, path[n-1])
		}
	}
}

// lookup answers the table at path.
func lookup(table map[string]any, path []string) (map[string]any, bool) {
	for _, key := range path {
		next, ok := table[key].(map[string]any)
		if !ok {
			return nil, false
		}
		table = next
	}
	return table, true
}

// plain is a value as a decoder answers it.
func plain(value any) any {
	switch v := value.(type) {
	case []string:
		list := []any{}
		for _, s := range v {
			list = append(list, s)
		}
		return list
	case []field:
		table := map[string]any{}
		for _, f := range v {
			table[f.name] = plain(f.value)
		}
		return table
	}
	return value
}

// newline is how the lines of a text end.
func newline(text []byte) string {
	if bytes.Contains(text, []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

// splice puts insert in the place of text[from:to].
func splice(text []byte, from, to int, insert string) []byte {
	return slices.Concat(text[:from], []byte(insert), text[to:])
}

// lineStart and lineEnd are the offsets at which the line of an offset begins,
// and at which the one after it does.
func lineStart(text []byte, at int) int { return bytes.LastIndexByte(text[:at], '\n') + 1 }

func lineEnd(text []byte, at int) int {
	if n := bytes.IndexByte(text[at:], '\n'); n >= 0 {
		return at + n + 1
	}
	return len(text)
}

// lineOf is the number of the line of an offset, from 1.
func lineOf(text []byte, at int) int { return 1 + bytes.Count(text[:at], []byte("\n")) }
