// Package loglines reads what brokers write into their logs: how bad a line is, and
// which lines somebody asked for. The same lines are found while a run is live and
// after it.
package loglines

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Levels, the worst first.
const (
	Error = "error"
	Warn  = "warn"
	Info  = "info"
	Debug = "debug"
)

func levels() []string { return []string{Error, Warn, Info, Debug} }

// levelForms are the forms in which brokers write a level: [ERR] of nats-server,
// ERROR of RobustMQ, "1763689356: Error: " of mosquitto, [error] and level=error of
// others. A word in the middle of a sentence is none.
var levelForms = regexp.MustCompile(`\[(TRC|DBG|INF|WRN|ERR|FTL)\]` +
	`|\b(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL)\b` +
	`|(?:^|: )(Error|Warning|Notice|Info|Debug): ` +
	`|(?i:\[(debug|info|notice|warning|error|critical|alert|emergency)\])` +
	`|(?i:\blevel"?[=:] ?"?(trace|debug|info|notice|warn|warning|error|fatal|critical)\b)`)

// levelWithin is how far into a line its level is looked for, in bytes.
const levelWithin = 120

// Level is how bad a line is. A panic is an error, whatever it is written with; a
// line without a level is info.
func Level(line string) string {
	if Panics(line) {
		return Error
	}
	m := levelForms.FindStringSubmatch(line[:min(len(line), levelWithin)])
	for _, word := range m[min(1, len(m)):] {
		switch strings.ToLower(word) {
		case "trace", "trc", "debug", "dbg":
			return Debug
		case "info", "inf", "notice":
			return Info
		case "warn", "warning", "wrn":
			return Warn
		case "error", "err", "fatal", "ftl", "critical", "alert", "emergency":
			return Error
		}
	}
	return Info
}

var panicForm = regexp.MustCompile(`\bpanicked at\b|^panic: |^fatal error: |\[signal SIGSEGV|has overflowed its stack`)

// Panics reports whether a line says that a process panicked.
func Panics(line string) bool { return panicForm.MatchString(line) }

func checkLevel(level string) error {
	if level != "" && !slices.Contains(levels(), level) {
		return fmt.Errorf("no level %q; valid are %s", level, strings.Join(levels(), ", "))
	}
	return nil
}

// atLeast reports whether a level is as bad as another, or worse. Every one is at
// least "".
func atLeast(level, than string) bool {
	return than == "" || slices.Index(levels(), level) <= slices.Index(levels(), than)
}
