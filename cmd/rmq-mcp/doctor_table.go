package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/doctor"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// printFault prints one row for people: what happened, then what showed it.
func printFault(p paint, w io.Writer, r doctor.Row) {
	state := p.bad(fmt.Sprintf("%-12s", r.Landing))
	switch {
	case r.OK && !r.Landed():
		state = p.doubt(fmt.Sprintf("%-12s", r.Landing))
	case r.OK:
		state = p.good(fmt.Sprintf("%-12s", r.Landing))
	}
	fmt.Fprintf(w, "%s %s %-16s %s heal %-9s %s\n", mark(p, r.OK && r.Landed()),
		p.bold(fmt.Sprintf("%-18s", r.Type)), r.Mechanism, state, cmp.Or(string(r.Healed), "–"), effect(r))
	for _, role := range doctor.Roles() {
		for _, why := range r.Signals[role] {
			fmt.Fprintf(w, "    %s %s\n", p.faint(fmt.Sprintf("%-9s", role)), p.faint(plain.Short(why)))
		}
	}
	for _, reasons := range r.Disturbed {
		fmt.Fprintf(w, "    %s %s\n", p.doubt("again for"), plain.Short(strings.Join(reasons, "; ")))
	}
	if !r.OK || !r.Landed() {
		for _, reason := range r.Reasons {
			fmt.Fprintf(w, "    %s %s\n", p.doubt("because  "), plain.Short(reason))
		}
	}
}

func effect(r doctor.Row) string {
	if r.EffectMS == 0 {
		return ""
	}
	return fmt.Sprintf("effect after %.3g ms", r.EffectMS)
}
