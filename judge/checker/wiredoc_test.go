package checker

import (
	"os"
	"strings"
	"testing"
)

// docs/wire.md says of every claim which evidence is whose.
func TestWireDocNamesEveryClaim(t *testing.T) {
	text, err := os.ReadFile("../../docs/wire.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| Claim | It is the client library's")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, e := range All {
		if n := strings.Count(table, "`"+e.Claim.Name+"`"); n != 1 {
			t.Errorf("docs/wire.md has %s in %d rows of the table, want one", e.Claim.Name, n)
		}
	}
}
