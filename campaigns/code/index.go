package code

import (
	"bytes"
	"index/suffixarray"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// An index finds text in all files of a tree at once.
type index struct {
	tree   *Tree
	starts []int // of the files in the text
	text   []byte
	array  *suffixarray.Index
}

func newIndex(t *Tree) *index {
	x := &index{tree: t}
	for _, f := range t.files {
		x.starts = append(x.starts, len(x.text))
		x.text = append(append(x.text, f.text...), 0)
	}
	x.array = suffixarray.New(x.text)
	return x
}

// A spot is a line of a file.
type spot struct {
	file file
	line int
}

const (
	mostHits  = 10_000 // of a text in the source: more say nothing
	mostSpots = 20     // places of one clue: more say nothing
)

// find returns the lines with a text in the order of the files; none where there are more
// hits than say anything.
func (x *index) find(text string) (spots []spot) {
	offsets := x.array.Lookup([]byte(text), mostHits+1)
	if len(offsets) > mostHits {
		return nil
	}
	slices.Sort(offsets)
	file, from, line := -1, 0, 0
	for _, at := range offsets {
		if i := sort.SearchInts(x.starts, at+1) - 1; i != file {
			file, from, line = i, x.starts[i], 1
		}
		line += bytes.Count(x.text[from:at], []byte{'\n'})
		from = at
		s := spot{x.tree.files[file], line}
		if n := len(spots); n == 0 || spots[n-1].line != s.line || spots[n-1].file.path != s.file.path {
			spots = append(spots, s)
		}
	}
	return spots
}

func (x *index) has(text string) bool { return len(x.array.Lookup([]byte(text), 1)) > 0 }

// words of a text: letters with what joins them, or any one other character but a space.
var words = regexp.MustCompile(`[\pL_][\pL_'-]*|[^\s]`)

// leastText is how many letters a log line must share with the source to be found there.
const leastText = 12

// runs returns the runs of words of a text that the source has, with no number in them:
// numbers are values. Those with the most letters come first, those with too few not at all.
func (x *index) runs(text string) (list []string) {
	at := words.FindAllStringIndex(text, -1)
	for i, last := 0, 0; i < len(at); i++ {
		end := max(i, last) // what is left of the run before is in the source as well
		if end > i && !x.has(text[at[i][0]:at[end-1][1]]) {
			end = i
		}
		for end < len(at) && !digit(text[at[end][0]]) && x.has(text[at[i][0]:at[end][1]]) {
			end++
		}
		if end <= max(i, last) { // nothing, or part of the run before
			continue
		}
		last = end
		if run := strings.Trim(text[at[i][0]:at[end-1][1]], "\"'` "); letters(run) >= leastText {
			list = append(list, run)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int { return letters(b) - letters(a) })
	return list
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

func letters(text string) (n int) {
	for _, c := range text {
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			n++
		}
	}
	return n
}

// written are the spots at which a text is part of a string, and not of a comment or of a
// test.
func written(all []spot, text string) []spot {
	return slices.DeleteFunc(slices.Clone(all), func(s spot) bool {
		line, _ := s.file.line(s.line)
		before, _, _ := strings.Cut(line, text)
		inString := strings.Count(before, `"`)%2 == 1 || strings.Contains(before, "`") || strings.TrimSpace(before) == "" // a string of several lines
		return !inString || comment(line, s.file.path) || testFile(s.file.path)
	})
}

// comment reports whether a line is nothing but a comment.
func comment(line, path string) bool {
	line = strings.TrimSpace(line)
	hash := strings.HasSuffix(path, ".py") || strings.HasSuffix(path, ".ex")
	return strings.HasPrefix(line, "//") || hash && strings.HasPrefix(line, "#")
}

var testForm = regexp.MustCompile(`(^|/)(tests?|benches|benchmarks|examples?)/|_test\.\w+$|(^|/)tests?\.rs$`)

func testFile(name string) bool { return testForm.MatchString(name) }

// A module is the part of a program that a log line names as its own, such as
// meta_service::raft::manager.
type module []string

var moduleForm = regexp.MustCompile(`^([a-z][a-z0-9_]*(?:::\w+)*): *`)

// moduleOf splits a message into its module and the rest.
func moduleOf(message string) (module, string) {
	m := moduleForm.FindStringSubmatch(message)
	if m == nil {
		return nil, message
	}
	return strings.Split(m[1], "::"), message[len(m[0]):]
}

// shared is how many names of the module a path has, in a row from the first.
func (m module) shared(path string) (n int) {
	path = "_" + strings.NewReplacer("-", "_", "/", "_", ".", "_").Replace(path)
	for _, name := range m {
		if !strings.Contains(path, "_"+name+"_") {
			break
		}
		n++
	}
	return n
}

// near are the spots whose paths share most with the module; none where they share
// nothing: the line is of a library that the tree does not have.
func (m module) near(spots []spot) []spot {
	if len(m) == 0 || len(spots) == 0 {
		return spots
	}
	best := 0
	for _, s := range spots {
		best = max(best, m.shared(s.file.path))
	}
	if best == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(spots), func(s spot) bool { return m.shared(s.file.path) < best })
}
