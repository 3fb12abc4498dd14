package history

import (
	"strconv"
	"strings"
)

// words are names that numbers got in one revision of history.arrow.
type words struct {
	since int
	names string
}

// The names by which the enums' numbers are shown, and kept in the metadata of
// the file's columns. Their order is the numbers' order; new ones are added at the
// end, with the revision that first has them.
var (
	kindNames = []words{
		{1, "none connect disconnect subscribe unsubscribe publish deliver fetch ack pause resume end driver inject heal phase observe"},
		{2, "packet told"},
	}
	edgeNames    = []words{{1, "point call return"}}
	sourceNames  = []words{{1, "harness driver tap native"}}
	outcomeNames = []words{{1, "none ok fail info"}}
	flagNames    = []words{{1, "dup retain session_present end corrupt foreign"}, {2, "to_client"}, {3, "renamed"}} // bit 0 first
)

func (k Kind) String() string    { return nameOf(kindNames, uint8(k)) }
func (e Edge) String() string    { return nameOf(edgeNames, uint8(e)) }
func (s Source) String() string  { return nameOf(sourceNames, uint8(s)) }
func (o Outcome) String() string { return nameOf(outcomeNames, uint8(o)) }

// String lists the flags that are set, "dup|end".
func (f Flags) String() string {
	var set []string
	for i, name := range strings.Fields(known(flagNames, revision)) {
		if f.Has(1 << i) {
			set = append(set, name)
		}
	}
	return strings.Join(set, "|")
}

func nameOf(names []words, n uint8) string {
	all := strings.Fields(known(names, revision))
	if int(n) < len(all) {
		return all[n]
	}
	return strconv.Itoa(int(n))
}

// known are the names that a revision has, as its files have them.
func known(names []words, revision int) string {
	var all []string
	for _, w := range names {
		if w.since <= revision {
			all = append(all, w.names)
		}
	}
	return strings.Join(all, " ")
}
