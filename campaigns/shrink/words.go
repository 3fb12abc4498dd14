package shrink

import (
	"fmt"
	"slices"
	"strings"
)

// describe says how a number changes.
func describe(name string, from, to float64) string {
	return fmt.Sprintf("%s %.4g instead of %.4g", name, to, from)
}

// without says which items go.
func (l List[C]) without(c C, items, keep []int) string {
	var gone []string
	for _, i := range items {
		if !slices.Contains(keep, i) {
			gone = append(gone, l.Item(c, i))
		}
	}
	return fmt.Sprintf("%s without %s", l.Name, strings.Join(gone, ", "))
}
