package finding

import (
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/loglines"
	"github.com/robustmq/rmq-mcp/reports"
)

// kindPanic is the kind of violation whose finding has a place.
const kindPanic = "panic"

// values are the parts of a message that differ from panic to panic.
var values = regexp.MustCompile(`\S*\d\S*|"[^"]*"|'[^']*'`)

// mostMessage is how much of a message a place has, in bytes.
const mostMessage = 60

// placeOf is where a panic happened, the same for each version and on each machine: the
// source file, without the line, which moves. A path on the machine that built the broker
// is shortened to its end. Where the log names no file it is the message without its values.
func placeOf(p reports.Panic) string {
	if p.File == "" {
		text := values.ReplaceAllString(p.Message, "#")
		return strings.ToValidUTF8(text[:min(len(text), mostMessage)], "")
	}
	library, file := loglines.SourceOf(p.File)
	if library == "" && path.IsAbs(file) {
		return path.Join(path.Base(path.Dir(file)), path.Base(file))
	}
	return path.Join(library, file)
}

// panics are the panics of the run by place.
func (r Run) panics() (list []violation) {
	at := map[string]int{}
	for _, p := range r.Report.Panics {
		place := placeOf(p)
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
	text := strings.Join(p.Nodes[:min(len(p.Nodes), 1)], "") + " panicked"
	if p.File != "" {
		text += fmt.Sprintf(" at %s:%d", placeOf(p), p.Line) // not where somebody built it
	}
	if p.Message != "" {
		text += ": " + strings.TrimSuffix(p.Message, ".")
	}
	return fmt.Sprintf("%s (%s, line %d)", text, p.Log, p.LogLine)
}
