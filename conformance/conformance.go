// Package conformance holds a broker against the normative statements of MQTT
// 3.1.1 and MQTT 5 that a client can observe, one small check for each, on a
// healthy broker. A broker's behaviour without faults must be known before it
// is tested with them.
//
// A check speaks the protocol itself, over a plain connection, and also sends
// packets that no client library would send. It never accuses on a time alone.
// An expected packet counts as missing only if the broker answers something
// else meanwhile. A forbidden packet is waited for until a marker that was sent
// after it has arrived. Behaviour that the standard leaves to the server is
// nobody's violation.
//
// The statements are those of the OASIS standards "MQTT Version 3.1.1" (29
// October 2014) and "MQTT Version 5.0" (7 March 2019), in our own words.
package conformance

import (
	"slices"
	"strings"
	"time"
)

// A Version is a protocol that there are checks for: of MQTT it is the protocol
// level of a CONNECT.
type Version byte

// The versions. The checks of mq9 are in a package of their own.
const (
	V311 Version = 4
	V5   Version = 5
	MQ9  Version = 9
)

func (v Version) String() string {
	switch v {
	case V5:
		return "5.0"
	case MQ9:
		return "mq9"
	}
	return "3.1.1"
}

// MarshalText is the version's name, as 3.1.1.
func (v Version) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Protocol is the version with the name of its protocol.
func (v Version) Protocol() string {
	if v == MQ9 {
		return v.String()
	}
	return "MQTT " + v.String()
}

// Levels of a statement, as RFC 2119 has them.
const (
	must   = "MUST"
	should = "SHOULD"
)

// A Statement is one thing that the standard says of a server.
type Statement struct {
	Name    string // of the check, group/name; unique with the version
	Version Version
	Number  string // MQTT-3.3.1-5; "" where the standard gives the sentence none; of mq9 page#heading
	Section string // 3.3.1; "" of mq9
	Level   string // MUST or SHOULD
	Text    string // in our words
	check   func(*exam)
}

// Group is the part of the name before the slash.
func (s Statement) Group() string {
	group, _, _ := strings.Cut(s.Name, "/")
	return group
}

// Cite is the statement's number or, where it has none, its section.
func (s Statement) Cite() string {
	if s.Number != "" {
		return "[" + s.Number + "]"
	}
	return "section " + s.Section
}

// A Verdict is what a check says of a broker.
type Verdict string

// The verdicts.
const (
	Conforms    Verdict = "conforms"
	Violates    Verdict = "violates"
	Unsupported Verdict = "unsupported" // the broker says that it does not do this, or refuses it where it may
	Undecided   Verdict = "undecided"   // nothing could be said: the reason tells why
)

// A Result is one statement held against one broker.
type Result struct {
	Statement
	Verdict Verdict
	Why     string        // "" where it conforms
	Took    time.Duration // of the check
	Packets []string      // what was sent and received, with times, in order
	Known   *Known        // the violation is a known one
}

// An entry is a statement of one version or of both: the numbers are
// MQTT-3.3.1-5 or, where the sentence has none, its section as §3.3.1; "" where
// the version does not say it.
type entry struct {
	name   string
	v3, v5 string
	level  string
	text   string
	check  func(*exam)
}

// Statements are all that there are checks for, in the order of the groups.
func Statements() []Statement {
	var all []Statement
	for _, group := range [][]entry{
		connecting(), refusing(), sessions(), takingOver(), disconnecting(), keepingAlive(), subscribing(), unsubscribing(), matching(),
		publishing(), retaining(), wills(), sharing(), properties(), flow(), expiring(), aliasing(), malformed(), bounds(), walking(),
	} {
		for _, e := range group {
			if e.v3 != "" {
				all = append(all, e.statement(V311, e.v3))
			}
			if e.v5 != "" {
				all = append(all, e.statement(V5, e.v5))
			}
		}
	}
	return all
}

func (e entry) statement(v Version, number string) Statement {
	s := Statement{Name: e.name, Version: v, Level: e.level, Text: e.text, check: e.check}
	if section, ok := strings.CutPrefix(number, "§"); ok {
		s.Section = section
		return s
	}
	s.Number = number
	s.Section = strings.TrimPrefix(number, "MQTT-")
	s.Section = strings.ReplaceAll(s.Section[:strings.LastIndexByte(s.Section, '-')], "-", ".") // one is spelled MQTT-3-8.3-4
	return s
}

// Groups are the groups of statements, in their order.
func Groups(of []Statement) []string {
	var all []string
	for _, s := range of {
		if !slices.Contains(all, s.Group()) {
			all = append(all, s.Group())
		}
	}
	return all
}
