package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A sentence of a comment or a message has its subject first, and says one thing: it
// begins with none of the heads, and has fewer than three relative words.
var (
	heads     = regexp.MustCompile(`^(What|Whatever|Which|Who|Whoever|Whom|Whose|Of)\b`)
	relatives = regexp.MustCompile(`\b(that|which|who|whom|whose|what|whatever|whoever)\b`)
	stops     = regexp.MustCompile(`[.!?]\s+`)
)

const wordsOfMessage = 4 // a literal with more is one

// TestWords fails for a sentence that a reader has to read twice.
func TestWords(t *testing.T) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case filepath.Ext(path) != ".go":
			return nil
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		check := func(at token.Pos, text string) {
			for _, s := range stops.Split(text, -1) {
				if heads.MatchString(s) || len(relatives.FindAllString(s, -1)) > 2 {
					t.Errorf("%s: %s", files.Position(at), s)
				}
			}
		}
		for _, c := range file.Comments {
			check(c.Pos(), strings.Join(strings.Fields(c.Text()), " "))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, `"`) && strings.Count(lit.Value, " ") >= wordsOfMessage {
				check(lit.Pos(), strings.Trim(lit.Value, `"`))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
