package conformance

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The manifest has every number once, with checks of its version or with the reason why it has none.
// Checks cite no other numbers.
func TestNumbers(t *testing.T) {
	seen := map[string]bool{}
	names := map[string]bool{}
	for _, s := range Statements() {
		names[s.Version.String()+s.Name] = true
	}
	for _, n := range Numbers() {
		key := n.Version.String() + n.Number
		if seen[key] {
			t.Errorf("%s of %s is there twice", n.Number, n.Version)
		}
		seen[key] = true
		ways := 0
		for _, way := range []bool{len(n.Checks) > 0, n.Binds != "", n.Why != ""} {
			if way {
				ways++
			}
		}
		if ways != 1 {
			t.Errorf("%s of %s: checks %v, binds %q, why %q: expected one of them", n.Number, n.Version, n.Checks, n.Binds, n.Why)
		}
		if n.Why != "" && !strings.HasPrefix(n.Why, "needs ") && !strings.HasPrefix(n.Why, "unseen: ") {
			t.Errorf("%s of %s: %q begins with neither needs nor unseen", n.Number, n.Version, n.Why)
		}
		for _, name := range n.Checks {
			if !names[n.Version.String()+name] {
				t.Errorf("%s of %s: there is no check %s of that version", n.Number, n.Version, name)
			}
		}
	}
	for _, s := range Statements() {
		if s.Number != "" && !seen[s.Version.String()+s.Number] {
			t.Errorf("%s cites %s, which %s does not have", s.Name, s.Number, s.Version)
		}
	}
}

// The page has the counts of the manifest.
func TestCounts(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "conformance.md"))
	if err != nil {
		t.Fatal(err)
	}
	all, checked, clients, open := map[Version]int{}, map[Version]int{}, 0, 0
	for _, n := range Numbers() {
		all[n.Version]++
		switch {
		case len(n.Checks) > 0:
			checked[n.Version]++
		case n.Binds != "":
			clients++
		default:
			open++
		}
	}
	want := fmt.Sprintf("There are %d checks. They examine %d of the %d numbered statements of both standards: %d of %d of MQTT 3.1.1, %d of %d of MQTT 5.0. %d bind clients alone, and %d are not examined",
		len(Statements()), checked[V311]+checked[V5], all[V311]+all[V5], checked[V311], all[V311], checked[V5], all[V5], clients, open)
	if page := strings.Join(strings.Fields(string(text)), " "); !strings.Contains(page, want) {
		t.Errorf("docs/conformance.md lacks: %s", want)
	}
}
