package doctor

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// Landed reports whether the fault landed.
func (r Row) Landed() bool { return r.Landing == history.Landed }

// Roles are the roles of proofs, in the order of reports.
func Roles() []string {
	return []string{string(history.RoleMechanism), string(history.RoleEffect), string(history.RoleControl), string(history.RoleHeal)}
}

// Markdown writes the rows as a table.
func Markdown(w io.Writer, rows []Row) {
	fmt.Fprintln(w, "| Family | Fault | On | Mechanism | Its own word | Effect | Control | Landing | Heal | Apply to effect |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range rows {
		if r.Landing == history.Unsupported && Proved(rows, r.Type) {
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
			cells[i] = plain.Cell(plain.Short(cells[i]))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
}

func firstOf(r Row, role history.Role) string {
	if list := r.Signals[string(role)]; len(list) > 0 {
		return list[0]
	}
	return ""
}

// lastOf is the witness, for controls.
func lastOf(r Row, role history.Role) string {
	if list := r.Signals[string(role)]; len(list) > 0 {
		return list[len(list)-1]
	}
	return ""
}
