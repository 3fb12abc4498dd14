package code

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/reports"
)

// placeForm is a place as people write it: src/raft/store.rs:41 Store::apply, or with #L41.
var placeForm = regexp.MustCompile("^`?" + `([\w./-]+\.\w+)(?:(?::|#L)(\d+)(?:-L?(\d+))?)?` + "`?" + `(.*)$`)

// symbolForms are the names of code in the rest of a place: joined by :: or a dot or an
// underscore, followed by a parenthesis, or in backticks. Other words are prose.
var symbolForms = regexp.MustCompile("\\w+(?:(?:::|\\.)\\w+)+|\\w*[a-z0-9]_\\w+|(\\w+)\\(|`(\\w+)`")

// Check looks whether a tree has the places that somebody names: the file, its lines, and the
// names of code behind it.
func Check(tree *Tree, places []string) []reports.CodeCheck {
	list := make([]reports.CodeCheck, len(places))
	for i, p := range places {
		list[i] = reports.CodeCheck{Place: p, Tree: tree.Name}
		list[i].Found, list[i].Why = tree.look(strings.TrimSpace(p))
	}
	return list
}

// look says whether the tree has a place, and what of it the tree has not.
func (t *Tree) look(place string) (found, why string) {
	m := placeForm.FindStringSubmatch(place)
	if m == nil {
		return reports.CodeNotChecked, "it does not begin with the path of a file"
	}
	var files []file
	for _, f := range t.files {
		if f.path == m[1] || strings.HasSuffix(f.path, "/"+m[1]) {
			files = append(files, f)
		}
	}
	switch {
	case len(files) == 0 && !wanted(m[1]):
		return reports.CodeNotChecked, "the server looks at source files alone"
	case len(files) == 0 && len(t.Notes) > 0:
		return reports.CodeNotChecked, "the server has not read all files"
	case len(files) == 0:
		return reports.CodeNotThere, "there is no such file"
	case len(files) > 1:
		return reports.CodeNotChecked, fmt.Sprintf("there are %d such files", len(files))
	}
	for _, digits := range m[2:4] {
		n, err := strconv.Atoi(digits)
		if _, there := files[0].line(n); digits != "" && (err != nil || !there) {
			return reports.CodeNotThere, fmt.Sprintf("%s has no line %s", files[0].path, digits)
		}
	}
	for _, name := range symbolsIn(m[4]) {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).Match(files[0].text) {
			return reports.CodeNotThere, fmt.Sprintf("%s has no %q", files[0].path, name)
		}
	}
	return reports.CodeThere, ""
}

// symbolsIn are the names of code in some words; one word alone is a name.
func symbolsIn(text string) (names []string) {
	if words := strings.Fields(text); len(words) == 1 && regexp.MustCompile(`^\w+$`).MatchString(words[0]) {
		return words
	}
	for _, m := range symbolForms.FindAllStringSubmatch(text, -1) {
		names = append(names, regexp.MustCompile(`\w+`).FindAllString(m[0], -1)...)
	}
	return names
}
