package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/clients/contract"
	"github.com/robustmq/rmq-mcp/history"
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
	spoken(t, func(at token.Position, _ bool, sentence string) {
		if heads.MatchString(sentence) || len(relatives.FindAllString(sentence, -1)) > 2 {
			t.Errorf("%s: %s", at, sentence)
		}
	})
}

// spoken calls see for each sentence of the code's comments and messages.
func spoken(t *testing.T, see func(at token.Position, message bool, sentence string)) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
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
		each := func(at token.Pos, message bool, text string) {
			for _, s := range stops.Split(text, -1) {
				see(files.Position(at), message, s)
			}
		}
		for _, c := range file.Comments {
			each(c.Pos(), false, strings.Join(strings.Fields(c.Text()), " "))
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && strings.HasPrefix(lit.Value, `"`) && strings.Count(lit.Value, " ") >= wordsOfMessage {
				each(lit.Pos(), true, strings.Trim(lit.Value, `"`))
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestWordsOnce fails where a word that one side of a run writes and another reads is
// spelled again: a word that changed on one side alone would make a claim hold for ever.
func TestWordsOnce(t *testing.T) {
	words := []string{
		contract.MQTT3, contract.MQTT5, contract.MQ9,
		contract.CannotExactlyOnce, contract.CannotSessionPresent, contract.CannotGrantedQoS, contract.CannotDup, contract.CannotPublishReason, contract.CannotFetch,
		history.GroupPublisher, history.GroupOffline, history.GroupExpiring, history.GroupVisiting, history.GroupOverlapping,
		history.TargetClient, history.ObserveExit, history.ObserveMemoryKill, history.StateExited,
	}
	for _, room := range []string{"judge", "reports", "campaigns", "experiment", "cluster"} {
		literals(t, filepath.Join("..", "..", room), func(at token.Position, text string) {
			if slices.Contains(words, text) {
				t.Errorf("%s: %q is a constant of history or clients/contract", at, text)
			}
		})
	}
}

// literals calls see for each string of the code below a folder, but not of its tests
// and of the tags of its structs.
func literals(t *testing.T, root string, see func(at token.Position, text string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil {
					see(files.Position(lit.Pos()), text)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
