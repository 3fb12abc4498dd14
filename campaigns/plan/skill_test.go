package plan

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/skills"
)

// The plan that the designing skill shows can be frozen as it is.
func TestPlanOfTheSkill(t *testing.T) {
	page, err := fs.ReadFile(skills.Files, "designing-distributed-system-tests/references/plan.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "\n````markdown\n")
	text, _, found := strings.Cut(rest, "\n````")
	if !found {
		t.Fatal("the page shows no plan")
	}
	p, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := SiteOf("", nil).Lint(p); err != nil {
		t.Error(err)
	}
}
