package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Part is runs of a finding that a person holds for another finding: they fail the same
// claim in the same way, and for another reason.
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

// divide moves the runs of each part out of its finding. A part of a finding that is not
// there any more changes nothing.
func divide(sights map[Key][]sight, parts []Part) {
	for _, p := range parts {
		for key, of := range maps.Clone(sights) {
			if key.ID() != p.Finding {
				continue
			}
			leaves := func(s sight) bool { return slices.Contains(p.Runs, s.run.ID) }
			other := key
			other.Title = p.Title
			for _, s := range of {
				if leaves(s) {
					sights[other] = append(sights[other], s)
				}
			}
			if rest := slices.DeleteFunc(slices.Clone(of), leaves); len(rest) > 0 {
				sights[key] = rest
			} else {
				delete(sights, key)
			}
			break
		}
	}
}
