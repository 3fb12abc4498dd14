package loglines

import (
	"regexp"
	"strconv"
	"time"
)

// The forms of times that name their zone: RFC 3339, and mosquitto's seconds since 1970.
var (
	stampForm  = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)`)
	secondForm = regexp.MustCompile(`^(\d{10}): `)
)

// timeWithin is how far into a line its time is looked for, in bytes.
const timeWithin = 80

// Time returns the time that a line begins with, by the clock of its node. ok is false for
// a line without a time and for a time without its zone.
func Time(line string) (at time.Time, ok bool) {
	line = line[:min(len(line), timeWithin)]
	if m := secondForm.FindStringSubmatch(line); m != nil {
		s, err := strconv.ParseInt(m[1], 10, 64)
		return time.Unix(s, 0), err == nil
	}
	at, err := time.Parse(time.RFC3339Nano, stampForm.FindString(line))
	return at, err == nil
}
