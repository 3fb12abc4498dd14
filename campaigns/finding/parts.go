package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Part is runs of a finding that show another finding in a person's opinion: they fail
// the same claim in the same way, and for another reason.
type Part struct {
	Finding string   // its ID
	Runs    []string // ids
	Title   string
}

// ParseParts reads the lines of a file that parts findings: the ID of one, the runs that
// are to leave it, a colon, and the title of the other. Empty lines and lines that begin
// with # say nothing.
func ParseParts(text string) (parts []Part, err error) {
	for n, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		ids, title, ok := strings.Cut(line, ":")
		words := strings.Fields(ids)
		if title = strings.TrimSpace(title); !ok || title == "" || len(words) < 2 {
			return nil, fmt.Errorf("line %d is %q, expected FINDING RUN [RUN …]: TITLE", n+1, line)
		}
		parts = append(parts, Part{words[0], words[1:], title})
	}
	return parts, nil
}

// divide moves the runs of each part out of its finding. It returns a note for each line
// that does nothing: without such a finding, or with a run that does not show it.
func (all sights) divide(parts []Part) (notes []string) {
	for _, p := range parts {
		key, found := all.named(p.Finding)
		if !found {
			notes = append(notes, fmt.Sprintf("%s parts %s, and there is no such finding", PartsFile, p.Finding))
			continue
		}
		other := key
		other.Title = p.Title
		for _, id := range p.Runs {
			shows := slices.Collect(maps.Values(all[key]))
			i := slices.IndexFunc(shows, func(s *sight) bool { return s.run.is(id) })
			if i < 0 {
				notes = append(notes, fmt.Sprintf("%s takes run %s out of %s, and it does not show that finding", PartsFile, id, p.Finding))
				continue
			}
			delete(all[key], shows[i].run.ID)
			all.add(other, *shows[i])
		}
		if len(all[key]) == 0 {
			delete(all, key)
		}
	}
	return notes
}

// named is the finding with an ID.
func (all sights) named(id string) (Key, bool) {
	for key := range all {
		if key.ID() == id {
			return key, true
		}
	}
	return Key{}, false
}
