package reports

import (
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A report says which places in the code the server found, apart from the agent's own words.
func TestChecksInAReport(t *testing.T) {
	words := Words{CodePaths: []string{"src/a.rs:7 f", "src/b.rs"}, Checks: []CodeCheck{
		{Place: "src/a.rs:7 f", Tree: "robustmq at v0.4.11", Found: CodeThere}, {Place: "src/b.rs", Tree: "robustmq at v0.4.11", Found: CodeNotThere, Why: "there is no such file | <b>"},
	}}
	page, err := Markdown(&Report{Notes: []Note{{Words: words}}})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\n> Code to look at: src/a.rs:7 f, src/b.rs\n", "\n- `src/a.rs:7 f`: there, in robustmq at v0.4.11\n- `src/b.rs`: not there, in robustmq at v0.4.11: there is no such file \\| &lt;b>\n"} {
		if !strings.Contains(string(page), want) {
			t.Errorf("%q is not in\n%s", want, page)
		}
	}
}

// A claim's row says into which situations the run came, and into which it did not.
func TestReachedInAReport(t *testing.T) {
	r := verdict.Result{Counts: map[string]int64{"due": 7, "lost": 0}, Reached: map[string]int64{"taken_over": 0, "wills_due": 1200, "sessions_resumed": 3}}
	if got, want := countsText(r), "due: 7; reached: sessions resumed 3, wills due 1,200; never reached: taken over"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
