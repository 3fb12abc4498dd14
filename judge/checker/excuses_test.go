package checker

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// docs/excuses.md has the table of excuses.
func TestExcusesDoc(t *testing.T) {
	const page = "../../docs/excuses.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), "\n| ")
	_, after, _ := strings.Cut(rest, "\n\n")
	if !found {
		t.Fatalf("%s has no table", page)
	}
	var table strings.Builder
	table.WriteString("\n| Reason | A message is missing | A will is missing | A session is missing |\n|---|---|---|---|\n")
	for _, e := range excuses {
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", e.why, e.loss, e.will, e.session)
	}
	want := before + table.String() + "\n" + after
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if string(text) != want {
		t.Errorf("%s is not what the judge does: go test ./judge/checker -run ExcusesDoc -update", page)
	}
}
