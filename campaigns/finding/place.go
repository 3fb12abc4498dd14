package finding

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/robustmq/rmq-mcp/reports"
)

// kindPanic is the kind of violation whose finding has a place.
const kindPanic = "panic"

// The parts of a path that change with the machine that built a broker, or with the
// version of a package.
var (
	above    = regexp.MustCompile(`^.*/(?:registry/src/[^/]+|pkg/mod|rustc/[0-9a-f]+)/`)
	versions = regexp.MustCompile(`(?:@v|-)\d+\.\d+\.\d+[^/]*`)
)

// placeOf is the source file of a panic, the same for each version and on each machine.
// Lines move from version to version.
func placeOf(file string) string {
	return versions.ReplaceAllString(above.ReplaceAllString(file, ""), "")
}

// panics are the panics of the run by place.
func (r Run) panics() (list []violation) {
	at := map[string]int{}
	for _, p := range r.Report.Panics {
		place := placeOf(p.File)
		i, known := at[place]
		if !known {
			i, at[place] = len(list), len(list)
			list = append(list, violation{kind: kindPanic, place: place, example: panicText(p)})
		}
		list[i].count += p.Count
	}
	return list
}

func panicText(p reports.Panic) string {
	text := fmt.Sprintf("%s panicked", p.Nodes[0])
	if p.File != "" {
		text += fmt.Sprintf(" at %s:%d", p.File, p.Line)
	}
	if p.Message != "" {
		text += ": " + strings.TrimSuffix(p.Message, ".")
	}
	return fmt.Sprintf("%s (%s, line %d)", text, p.Log, p.LogLine)
}
