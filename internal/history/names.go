package history

import (
	"strconv"
	"strings"
)

// The names by which the enums' numbers are shown, and kept in the metadata of
// the file's columns. Their order is the numbers' order.
const (
	kindNames    = "none connect disconnect subscribe unsubscribe publish deliver fetch ack pause resume end driver inject heal phase observe packet told"
	edgeNames    = "point call return"
	sourceNames  = "harness driver tap native"
	outcomeNames = "none ok fail info"
	flagNames    = "dup retain session_present end corrupt foreign to_client renamed" // bit 0 first
)

func (k Kind) String() string    { return nameOf(kindNames, uint8(k)) }
func (e Edge) String() string    { return nameOf(edgeNames, uint8(e)) }
func (s Source) String() string  { return nameOf(sourceNames, uint8(s)) }
func (o Outcome) String() string { return nameOf(outcomeNames, uint8(o)) }

// String lists the flags that are set, "dup|end".
func (f Flags) String() string {
	var set []string
	for i, name := range strings.Fields(flagNames) {
		if f.Has(1 << i) {
			set = append(set, name)
		}
	}
	return strings.Join(set, "|")
}

func nameOf(names string, n uint8) string {
	all := strings.Fields(names)
	if int(n) < len(all) {
		return all[n]
	}
	return strconv.Itoa(int(n))
}
