package code

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/reports"
)

// named is a place as people write it: src/raft/store.rs:41 Store::apply.
var placeForm = regexp.MustCompile(`^` + "`?" + `([\w./-]+\.\w+)(?::(\d+))?(?:-\d+)?` + "`?" + `[\s,:(]*(.*?)\)?$`)

// symbols are the names in the rest of a place.
var symbols = regexp.MustCompile(`[A-Za-z_]\w{2,}`)

// Check looks whether a tree has the places that somebody names: the file, the line, and each
// name or quoted text behind it.
func Check(tree *Tree, places []string) []reports.CodeCheck {
	list := make([]reports.CodeCheck, len(places))
	for i, p := range places {
		list[i] = reports.CodeCheck{Place: p, Tree: tree.Name}
		if why := tree.lacks(strings.TrimSpace(p)); why != "" {
			list[i].Why = why
		} else {
			list[i].There = true
		}
	}
	return list
}

// lacks is the part of a place that the tree does not have; "" where it has all of it.
func (t *Tree) lacks(place string) string {
	m := placeForm.FindStringSubmatch(place)
	if m == nil {
		return "it does not begin with the path of a file"
	}
	files := t.named(m[1])
	switch {
	case len(files) == 0:
		return "there is no such file"
	case len(files) > 1:
		return fmt.Sprintf("there are %d such files", len(files))
	}
	if m[2] != "" {
		n, err := strconv.Atoi(m[2])
		if _, there := files[0].line(n); err != nil || !there {
			return fmt.Sprintf("%s has no line %s", files[0].path, m[2])
		}
	}
	text := string(files[0].text)
	if quoted := strings.Trim(m[3], "`\"' "); quoted == "" || strings.Contains(text, quoted) {
		return ""
	}
	for _, name := range symbols.FindAllString(m[3], -1) {
		if !strings.Contains(text, name) && !slices.Contains(plainWords, strings.ToLower(name)) {
			return fmt.Sprintf("%s has no %q", files[0].path, name)
		}
	}
	return ""
}

// plainWords are what people write around a name.
var plainWords = []string{"function", "method", "line", "lines", "the", "and", "impl", "struct", "func"}
