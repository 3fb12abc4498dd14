// Package near suggests what was meant by a name that does not exist.
package near

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

const (
	most    = 3  // names that are suggested
	longest = 80 // word that is compared: the time for it grows with the cube of its length
)

// Names are the known names that are like a word, the likeliest first, at most three: they
// contain it, or few edits make one of the other. A word may lack the part of a name before its
// last slash.
func Names(word string, known []string) (names []string) {
	if len(word) > longest {
		return nil
	}
	word = strings.ToLower(word)
	edits := min(3, len(base(word))/2)
	distance := map[string]int{}
	for _, name := range known {
		full := strings.ToLower(name)
		d := min(distanceOf(word, full), distanceOf(word, base(full)))
		if len(word) > 2 && strings.Contains(full, word) {
			d = 1
		}
		if _, twice := distance[name]; !twice && d <= edits {
			distance[name] = d
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(distance[a], distance[b]) })
	return names[:min(most, len(names))]
}

// distanceOf counts the edits that make one word of another. Swapped letters count as one.
func distanceOf(word, name string) int {
	least := levenshtein.ComputeDistance(word, name)
	for i := range len(word) - 1 {
		swapped := word[:i] + word[i+1:i+2] + word[i:i+1] + word[i+2:]
		least = min(least, 1+levenshtein.ComputeDistance(swapped, name))
	}
	return least
}

func base(name string) string { return name[strings.LastIndex(name, "/")+1:] }

// Hint is the rest of an error about a name that does not exist: " (did you mean kill or
// kill_all?)", or otherwise if no known name is like the word.
func Hint(word string, known []string, otherwise string) string {
	names := Names(word, known)
	if len(names) == 0 {
		return otherwise
	}
	text := names[len(names)-1]
	if rest := names[:len(names)-1]; len(rest) > 0 {
		text = strings.Join(rest, ", ") + " or " + text
	}
	return " (did you mean " + text + "?)"
}
