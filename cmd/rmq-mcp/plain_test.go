package main

import (
	"encoding/json"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// measures are what makes a sentence hard to read. Documentation of nats.go and tailscale has
// hardly any of them.
var measures = []struct {
	name string
	hard func(sentence string) bool
}{
	{"two relative words", func(s string) bool { return len(relatives.FindAllString(s, -1)) > 1 }},
	{"where", regexp.MustCompile(`(?i)\bwhere\b`).MatchString},
	{"begins with a pronoun", regexp.MustCompile(`^(One|Those|That|Nobody|Nothing)\b`).MatchString},
	{"nobody", regexp.MustCompile(`(?i)\b(nobody|somebody|anybody)\b`).MatchString},
	{"unidiomatic", regexp.MustCompile(`(?i)of which it is|cannot be told|so long, of all|beside it\b|\banew\b|\bgoes on\b|cannot be had|\bis had\b`).MatchString},
}

const plainFile = "testdata/plain.json"

// TestPlain counts sentences that are hard to read, in each page of documentation and in each
// package's comments and messages. A count may not grow: -update writes lower ones.
func TestPlain(t *testing.T) {
	sentences := map[string][]string{}
	ofPages(t, sentences)
	ofPackages(t, sentences)
	var most map[string]map[string]int
	text, err := os.ReadFile(plainFile)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &most); err != nil {
		t.Fatal(err)
	}
	counts := map[string]map[string]int{}
	totals := map[string]map[string]int{"pages": {}, "messages": {}, "comments": {}}
	for place, list := range sentences {
		total := totals["pages"]
		if _, kind, ok := strings.Cut(place, " "); ok {
			total = totals[kind]
		}
		total["sentences"] += len(list)
		for _, m := range measures {
			var hard []string
			for _, s := range list {
				if m.hard(s) {
					hard = append(hard, s)
				}
			}
			total[m.name] += len(hard)
			if len(hard) == 0 {
				continue
			}
			if counts[place] == nil {
				counts[place] = map[string]int{}
			}
			counts[place][m.name] = len(hard)
			if allowed := most[place][m.name]; len(hard) > allowed && !*update {
				t.Errorf("%s has %d sentences with %q, at most %d; they are:\n  %s", place, len(hard), m.name, allowed, strings.Join(hard, "\n  "))
			}
		}
	}
	for kind, total := range totals {
		for _, m := range measures {
			t.Logf("%s: %d of %d sentences with %q", kind, total[m.name], total["sentences"], m.name)
		}
	}
	if *update {
		text, err := json.MarshalIndent(counts, "", "  ")
		if err == nil {
			err = os.WriteFile(plainFile, append(text, '\n'), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

var (
	codeSpan  = regexp.MustCompile("`[^`]*`")
	linkForm  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	listPoint = regexp.MustCompile(`^\s*([-*]|\d+\.)\s+`)
)

// ofPages adds the sentences of the documentation by page, without code, of tables each cell.
func ofPages(t *testing.T, sentences map[string][]string) {
	t.Helper()
	for _, form := range []string{"*.md", "docs/*.md", "clients/*.md", "skills/*/*.md", "skills/*/references/*.md", ".github/*.md"} {
		files, err := filepath.Glob(filepath.Join("../..", form))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			place, _ := filepath.Rel("../..", file)
			sentences[filepath.ToSlash(place)] = prose(string(text))
		}
	}
}

func prose(page string) (sentences []string) {
	var paragraph []string
	end := func() {
		for _, s := range stops.Split(strings.Join(paragraph, " "), -1) {
			if strings.Contains(s, " ") {
				sentences = append(sentences, s)
			}
		}
		paragraph = nil
	}
	fenced := false
	for line := range strings.Lines(page) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
			end()
		case fenced || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "<!--"):
		case strings.HasPrefix(line, "|"):
			end()
			for cell := range strings.SplitSeq(line, "|") {
				paragraph = []string{plainText(cell)}
				end()
			}
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") || listPoint.MatchString(line):
			end()
			if text := plainText(listPoint.ReplaceAllString(strings.TrimLeft(line, "# "), "")); text != "" {
				paragraph = append(paragraph, text)
			}
		default:
			paragraph = append(paragraph, plainText(line))
		}
	}
	end()
	return sentences
}

func plainText(s string) string {
	s = linkForm.ReplaceAllString(codeSpan.ReplaceAllString(s, "X"), "$1")
	return strings.TrimSpace(strings.NewReplacer("*", "", "\\", "").Replace(s))
}

// ofPackages adds the sentences of comments and messages by package.
func ofPackages(t *testing.T, sentences map[string][]string) {
	t.Helper()
	spoken(t, func(at token.Position, message bool, sentence string) {
		if strings.HasSuffix(at.Filename, "_test.go") {
			return
		}
		place, _ := filepath.Rel(filepath.Join("..", ".."), filepath.Dir(at.Filename))
		kind := " comments"
		if message {
			kind = " messages"
		}
		place = filepath.ToSlash(place) + kind
		sentences[place] = append(sentences[place], sentence)
	})
}
