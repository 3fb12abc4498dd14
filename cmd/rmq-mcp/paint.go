package main

import (
	"encoding/json"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A paint colours text, or leaves it alone.
type paint bool

// paintFor colours what goes to a terminal, unless NO_COLOR asks not to.
func paintFor(f *os.File) paint {
	_, no := os.LookupEnv("NO_COLOR")
	return paint(!no && os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())))
}

func (p paint) in(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p paint) good(text string) string  { return p.in("32", text) }
func (p paint) bad(text string) string   { return p.in("31", text) }
func (p paint) doubt(text string) string { return p.in("33", text) }
func (p paint) bold(text string) string  { return p.in("1", text) }
func (p paint) faint(text string) string { return p.in("2", text) }

// state colours a verdict's state by its exit code.
func (p paint) state(s verdict.State, text string) string {
	switch s.ExitCode() {
	case 0:
		return p.good(text)
	case 1:
		return p.bad(text)
	}
	return p.doubt(text)
}

// sayTo is where what is not the answer goes: beside it, where that is for a
// program.
func sayTo(out io.Writer, asJSON bool) io.Writer {
	if asJSON {
		return os.Stderr
	}
	return out
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
