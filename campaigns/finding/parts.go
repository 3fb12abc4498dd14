package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
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
	for n, line := range strings.Split(plain.Text(text), "\n") {
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

// divide moves the runs of each part out of its finding. It notes each line that does
// nothing: without such a finding, or with a run that does not show it.
func (all *sights) divide(parts []Part) {
	for _, p := range parts {
		key, found := all.named(p.Finding)
		if !found {
			all.notes = append(all.notes, fmt.Sprintf("%s parts %s, and there is no such finding", PartsFile, p.Finding))
			continue
		}
		other := key
		other.Title = p.Title
		if same, known := all.named(other.ID()); known { // its party may be another one
			other = same
		}
		for _, id := range p.Runs {
			shows := sorted(all.of[key])
			i := slices.IndexFunc(shows, func(run string) bool { return all.of[key][run].run.is(id) })
			if i < 0 {
				all.notes = append(all.notes, fmt.Sprintf("%s takes run %s out of %s, and it does not show that finding", PartsFile, id, p.Finding))
				continue
			}
			s := *all.of[key][shows[i]]
			all.remove(key, shows[i])
			all.add(other, s)
		}
	}
}

// named is the finding with an ID.
func (all *sights) named(id string) (Key, bool) {
	for _, key := range all.keys() {
		if key.ID() == id {
			return key, true
		}
	}
	return Key{}, false
}
