package plan

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A Change is one thing that is not what was frozen.
type Change struct {
	Where string `json:"where"` // scenarios S2: model.thresholds.recovery_s
	Old   string `json:"old"`   // as frozen, which counts
	New   string `json:"new"`
}

func (c Change) String() string { return fmt.Sprintf("%s: %s → %s", c.Where, c.Old, c.New) }

// A Mismatch is a plan that is no longer what was frozen under its name.
type Mismatch struct {
	Record  *Record
	Changes []Change
}

func (m *Mismatch) Error() string {
	lines := []string{fmt.Sprintf("plan %s was frozen as %.12s and is no longer that (frozen → now):", m.Record.Plan.Name, m.Record.Hash)}
	for _, c := range m.Changes {
		lines = append(lines, "- "+c.String())
	}
	return strings.Join(append(lines, "what was frozen counts, and nothing was changed; give the plan another name to plan again"), "\n")
}

// Compare answers a [*Mismatch] where a plan is not the frozen one of its name.
// Items are those of the plan as resolved now, nil where that could not be done.
func (r *Record) Compare(p *Plan, now *Frozen) error {
	changes := changed(r.Plan, *p)
	if now != nil && len(changes) == 0 {
		changes = slices.DeleteFunc(changed(r.Items, now.Items), func(c Change) bool {
			return strings.HasSuffix(c.Where, ".scenario_text") // its hash says so in fewer words
		})
	}
	if len(changes) == 0 {
		return nil
	}
	return &Mismatch{r, changes}
}

// changed are the leaves in which two values of one type differ.
func changed(old, now any) (list []Change) {
	was, is := map[string]string{}, map[string]string{}
	flatten(was, "", decoded(old))
	flatten(is, "", decoded(now))
	for _, key := range slices.Sorted(maps.Keys(merge(was, is))) {
		a, had := was[key]
		b, has := is[key]
		if !had {
			a = "nothing"
		}
		if !has {
			b = "nothing"
		}
		if a != b {
			list = append(list, Change{key, plain.Cut(a, mostShown), plain.Cut(b, mostShown)})
		}
	}
	return list
}

// decoded is a value as JSON has it: of a frozen plan, numbers were read again.
func decoded(v any) (out any) {
	text, err := json.Marshal(v)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		panic(err) // of strings and numbers
	}
	return out
}

func merge(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// flatten writes the leaves of a value by their path. An element of a list is
// found by its id or claim if it has one, so that an element inserted before it
// changes nothing else.
func flatten(into map[string]string, path string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			flatten(into, strings.TrimPrefix(path+"."+key, "."), inner)
		}
	case []any:
		for i, inner := range v {
			name := fmt.Sprint(i + 1)
			if object, ok := inner.(map[string]any); ok {
				for _, key := range []string{"id", "claim"} {
					if id, ok := object[key].(string); ok {
						name = id
						break
					}
				}
			}
			flatten(into, strings.TrimSpace(path+" "+name), inner)
		}
	case nil:
	default:
		text, _ := json.Marshal(v)
		into[path] = string(text)
	}
}

// mostShown is how much of a value is shown.
const mostShown = 120
