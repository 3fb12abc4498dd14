package exam

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/conformance"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A Report is what the checks said of one broker.
type Report struct {
	Broker  string `json:"broker"`
	Flavor  string `json:"flavor"`
	Nodes   int    `json:"nodes"`
	Seed    uint64 `json:"seed"`
	Results []Row  `json:"results"`

	Down []string `json:"down,omitempty"` // nodes that do not serve after the checks: how their process ended, with the last lines of its log
}

// A Row is one statement held against a broker.
type Row struct {
	Name     string   `json:"name"`
	Protocol string   `json:"protocol"`         // MQTT 3.1.1, MQTT 5.0 or mq9
	Number   string   `json:"number,omitempty"` // of mq9 page#heading
	Section  string   `json:"section,omitempty"`
	Level    string   `json:"level"`
	Text     string   `json:"text"`
	Verdict  string   `json:"verdict"`
	Why      string   `json:"why,omitempty"`
	Known    string   `json:"known,omitempty"` // the source of the broker's known violation
	TookMS   int64    `json:"took_ms"`
	Packets  []string `json:"packets,omitempty"` // of what does not conform
}

func rowOf(r conformance.Result) Row {
	row := Row{
		Name: r.Name, Protocol: r.Version.Protocol(), Number: r.Number, Section: r.Section, Level: r.Level, Text: r.Text,
		Verdict: string(r.Verdict), Why: r.Why, TookMS: r.Took.Milliseconds(),
	}
	if r.Known != nil {
		row.Known = r.Known.What + ": " + r.Known.Cite
	}
	if r.Verdict != conformance.Conforms {
		row.Packets = r.Packets
	}
	return row
}

// Cite names the statement's place in its standard.
func (r Row) Cite() string {
	if r.Number != "" {
		return fmt.Sprintf("%s [%s]", r.Protocol, r.Number)
	}
	return fmt.Sprintf("%s section %s", r.Protocol, r.Section)
}

// known is the column of violations for which the broker is known.
const known = "known"

// column is the one in which a row is counted.
func (r Row) column() string {
	if r.Known != "" {
		return known
	}
	return r.Verdict
}

// Columns are those of the tables: the verdicts, and known violations apart.
func Columns() []string {
	return []string{string(conformance.Conforms), string(conformance.Violates), known, string(conformance.Unsupported), string(conformance.Undecided)}
}

// Counted counts the rows of a group by column; "" is all groups.
func (r Report) Counted(group string) map[string]int {
	n := map[string]int{}
	for _, row := range r.Results {
		if g, _, _ := strings.Cut(row.Name, "/"); group == "" || g == group {
			n[row.column()]++
		}
	}
	return n
}

// Groups are those that have rows, in order.
func (r Report) Groups() []string {
	var all []string
	for _, row := range r.Results {
		if g, _, _ := strings.Cut(row.Name, "/"); !slices.Contains(all, g) {
			all = append(all, g)
		}
	}
	return all
}

// Wrong are the rows of what does not conform, the violations first.
func (r Report) Wrong() []Row {
	var all []Row
	for _, verdict := range []conformance.Verdict{conformance.Violates, conformance.Undecided} {
		for _, row := range r.Results {
			if row.Verdict == string(verdict) {
				all = append(all, row)
			}
		}
	}
	return all
}

// Violated reports whether the broker violates a MUST and is not known for it, or a node is down.
func (r Report) Violated() bool {
	return len(r.Down) > 0 || slices.ContainsFunc(r.Results, func(r Row) bool {
		return r.Verdict == string(conformance.Violates) && r.Level == "MUST" && r.Known == ""
	})
}

// Undecided reports whether something could not be decided.
func (r Report) Undecided() bool {
	return slices.ContainsFunc(r.Results, func(r Row) bool { return r.Verdict == string(conformance.Undecided) })
}

// Markdown writes a table of the groups, another of violations and undecided checks, and the packets
// of each violation that is not known.
func (r Report) Markdown(w io.Writer) {
	fmt.Fprintf(w, "%s, nodes: %d, seed: %d\n\n| Group | %s |\n|---%s|\n", r.Broker, r.Nodes, r.Seed,
		strings.Join(Columns(), " | "), strings.Repeat("|---", len(Columns())))
	for _, group := range append(r.Groups(), "") {
		n, name := r.Counted(group), group
		if group == "" {
			name = "**all**"
		}
		cells := []string{name}
		for _, v := range Columns() {
			cells = append(cells, fmt.Sprint(n[v]))
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, end := range r.Down {
		fmt.Fprintf(w, "\nDown after the checks:\n\n```\n%s\n```\n", end)
	}
	wrong := r.Wrong()
	if len(wrong) == 0 {
		return
	}
	fmt.Fprint(w, "\n| Check | Statement | | Verdict | What was seen |\n|---|---|---|---|---|\n")
	for _, r := range wrong {
		verdict := r.Verdict
		if r.Known != "" {
			verdict = "known: " + r.Known
		}
		cells := []string{"`" + r.Name + "`", r.Cite(), r.Level, verdict, r.Text + ". " + r.Why}
		for i := range cells {
			cells[i] = plain.Cell(cells[i])
		}
		fmt.Fprintf(w, "| %s |\n", strings.Join(cells, " | "))
	}
	for _, r := range wrong {
		if r.Known == "" && r.Verdict == string(conformance.Violates) {
			fmt.Fprintf(w, "\n`%s`, %s:\n\n```\n%s\n```\n", r.Name, r.Cite(), strings.Join(r.Packets, "\n"))
		}
	}
}

// Compared counts the verdicts, and the statements whose verdict is another than before. It names the
// new violations. Before may be nil.
func (r Report) Compared(before *Report) string {
	n := r.Counted("")
	text := fmt.Sprintf("%s: %d checks, %d conform, %d violate, %d known, %d unsupported, %d undecided", r.Broker, len(r.Results),
		n[string(conformance.Conforms)], n[string(conformance.Violates)], n[known], n[string(conformance.Unsupported)], n[string(conformance.Undecided)])
	if len(r.Down) > 0 {
		text += fmt.Sprintf("; %d nodes are down", len(r.Down))
	}
	if before == nil {
		return text
	}
	was, now := before.columns(), r.columns()
	fresh, gone, lost := []string{}, 0, 0
	const conforms, violates, undecided = string(conformance.Conforms), string(conformance.Violates), string(conformance.Undecided)
	for _, name := range slices.Sorted(maps.Keys(was)) {
		switch then, is := was[name], now[name]; {
		case then == conforms && is == violates:
			fresh = append(fresh, name)
		case (then == violates || then == known) && is == conforms:
			gone++
		case then != undecided && is == undecided:
			lost++
		}
	}
	text += fmt.Sprintf("; %d that %s did not have", len(fresh), before.Broker)
	if len(fresh) > 0 {
		text += " (" + strings.Join(fresh, ", ") + ")"
	}
	text += fmt.Sprintf(", %d fewer", gone)
	if lost > 0 {
		text += fmt.Sprintf(", %d no longer decided", lost)
	}
	return text
}

// columns are those of the statements, by protocol and name.
func (r Report) columns() map[string]string {
	all := map[string]string{}
	for _, row := range r.Results {
		all[row.Protocol+" "+row.Name] = row.column()
	}
	return all
}
