package hosts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Diff is the change for a person: the file, and our entry that goes and that
// comes. No line of the file is shown, and of the entry no value but how it
// starts the server: what stands beside that are tokens, our own among them.
func (c Change) Diff() string {
	if c.Empty() {
		return ""
	}
	out := c.File + "\n"
	if c.was != nil {
		out += "- " + describe(c.was) + "\n"
	}
	if c.will != nil {
		out += "+ " + describe(c.will) + "\n"
	}
	if c.Removed() {
		out += "- the file, which holds nothing else\n"
	}
	return out
}

// describe is an entry without its secrets: of the keys beside command and
// args the names.
func describe(table map[string]any) string {
	args := []string{}
	for _, arg := range entryOf(table).Args {
		args = append(args, fmt.Sprintf("%q", arg))
	}
	line := fmt.Sprintf("%s: command %q, args [%s]", Name, entryOf(table).Command, strings.Join(args, ", "))
	others := []string{}
	for _, key := range slices.Sorted(maps.Keys(table)) {
		if key != "command" && key != "args" {
			others = append(others, fmt.Sprintf("%q", key))
		}
	}
	if len(others) > 0 {
		line += ", and " + strings.Join(others, ", ")
	}
	return line
}
