package main

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/doctor"
	"github.com/robustmq/rmq-mcp/history"
)

// printFault prints one row for people: what happened, then what showed it.
func printFault(p paint, w io.Writer, r doctor.Row) {
	state := p.bad(fmt.Sprintf("%-12s", r.Landing))
	switch {
	case r.OK && r.Landing != history.Landed:
		state = p.doubt(fmt.Sprintf("%-12s", r.Landing))
	case r.OK:
		state = p.good(fmt.Sprintf("%-12s", r.Landing))
	}
	fmt.Fprintf(w, "%s %s %-16s %s heal %-9s %s\n", mark(p, r.OK && r.Landing == history.Landed),
		p.bold(fmt.Sprintf("%-18s", r.Type)), r.Mechanism, state, cmp.Or(string(r.Healed), "–"), effect(r))
	for _, role := range []history.Role{history.RoleMechanism, history.RoleEffect, history.RoleControl, history.RoleHeal} {
		for _, why := range r.Signals[string(role)] {
			fmt.Fprintf(w, "    %s %s\n", p.faint(fmt.Sprintf("%-9s", role)), p.faint(short(why)))
		}
	}
	for _, reasons := range r.Disturbed {
		fmt.Fprintf(w, "    %s %s\n", p.doubt("again for"), short(strings.Join(reasons, "; ")))
	}
	if !r.OK || r.Landing != history.Landed {
		for _, reason := range r.Reasons {
			fmt.Fprintf(w, "    %s %s\n", p.doubt("because  "), short(reason))
		}
	}
}

func effect(r doctor.Row) string {
	if r.EffectMS == 0 {
		return ""
	}
	return fmt.Sprintf("effect after %.3g ms", r.EffectMS)
}

// writeFaultTable writes the rows as a table of Markdown.
func writeFaultTable(w io.Writer, rows []doctor.Row) {
	fmt.Fprintln(w, "| Family | Fault | On | Mechanism | Its own word | Effect | Control | Landing | Heal | Apply to effect |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.Landing == history.Unsupported && doctor.Proved(rows, r.Type) {
			continue // another flavor shows it
		}
		took := "–"
		if r.EffectMS > 0 {
			took = fmt.Sprintf("%.3g ms", r.EffectMS)
		}
		landing := string(r.Landing)
		if r.Landing != history.Landed && len(r.Reasons) > 0 {
			landing += ": " + r.Reasons[0]
		}
		cells := []string{
			r.Family, "`" + r.Type + "`", fmt.Sprintf("%s, %s", r.Flavor, r.Target), r.Mechanism,
			firstOf(r, history.RoleMechanism), firstOf(r, history.RoleEffect), lastOf(r, history.RoleControl),
			landing, cmp.Or(string(r.Healed), "–"), took,
		}
		for i := range cells {
			cells[i] = strings.NewReplacer("|", "\\|", "\n", " ").Replace(short(cells[i]))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

func firstOf(r doctor.Row, role history.Role) string {
	if list := r.Signals[string(role)]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// lastOf is the witness, for controls.
func lastOf(r doctor.Row, role history.Role) string {
	if list := r.Signals[string(role)]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}
