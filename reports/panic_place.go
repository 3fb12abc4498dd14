package reports

import (
	"path"
	"regexp"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/loglines"
)

// values are the parts of a message that differ from panic to panic.
var values = regexp.MustCompile(`\S*\d\S*|"[^"]*"|'[^']*'`)

// mostMessage is how much of a message a place has, in bytes.
const mostMessage = 60

// Place is where a panic happened, the same for each version and on each machine: the
// source file, without the line, which moves. A path on the machine that built the broker
// is shortened to its end. Where the log names no file it is the message without its values.
func (p Panic) Place() string {
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
