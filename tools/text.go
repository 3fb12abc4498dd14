package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

func find(params []Param, name string) *Param {
	for i := range params {
		if params[i].Name == name {
			return &params[i]
		}
	}
	return nil
}

func names(params []Param) string {
	if len(params) == 0 {
		return "none"
	}
	list := make([]string, len(params))
	for i, p := range params {
		list[i] = p.Name
	}
	return strings.Join(list, ", ")
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// plural answers "1 node" or "3 nodes".
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(float64(n)) + " " + noun + "s"
}

// joined lists words, and says so when there are none.
func joined(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// firstOf are the first of a list, and how many more there are.
func firstOf(list []string, most int) []string {
	if more := len(list) - most; more > 0 {
		return append(slices.Clone(list[:most]), fmt.Sprintf("… %d more", more))
	}
	return list
}
