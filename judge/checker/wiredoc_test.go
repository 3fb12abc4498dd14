package checker

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// A wireRow is a row of the table in docs/wire.md: its claims, and the evidence by the
// party that it blames. Evidence that needs no packet begins with "always".
type wireRow struct {
	claims   []string
	evidence map[verdict.Party][]string
}

// wireTable returns the table's rows.
var wireTable = sync.OnceValues(func() (rows []wireRow, err error) {
	text, err := os.ReadFile("../../docs/wire.md")
	_, table, _ := strings.Cut(string(text), "\n|---|---|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for line := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		row := wireRow{evidence: map[verdict.Party][]string{}}
		for claim := range strings.SplitSeq(cells[0], ",") {
			row.claims = append(row.claims, strings.Trim(claim, " `"))
		}
		for i, party := range []verdict.Party{verdict.SDK, verdict.Broker, ""} {
			for one := range strings.SplitSeq(aside.ReplaceAllString(cells[i+1], ""), ";") {
				if one = strings.TrimPrefix(strings.TrimSpace(one), "that "); one != "" {
					row.evidence[party] = append(row.evidence[party], one)
				}
			}
		}
		rows = append(rows, row)
	}
	return rows, err
})

// wireRowOf returns the row of a claim.
func wireRowOf(t *testing.T, claim string) wireRow {
	t.Helper()
	rows, err := wireTable()
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(rows, func(r wireRow) bool { return slices.Contains(r.claims, claim) })
	if i < 0 {
		t.Fatalf("docs/wire.md lacks %s", claim)
	}
	return rows[i]
}

func (r wireRow) always(party verdict.Party) bool {
	return len(r.evidence[party]) == 1 && strings.HasPrefix(r.evidence[party][0], "always")
}

// aside is what the table and the words of an anomaly say beside the evidence.
var aside = regexp.MustCompile(` \([^)]*\)`)

// wireWords are the words in which an anomaly says what the wire shows, or why it blames
// nobody.
func wireWords(text string) string {
	words, shown := "", false
	for _, by := range []string{"; the wire shows ", "; its process shows ", "; the packets show no party at fault: "} {
		if _, words, shown = strings.Cut(text, by); shown {
			break
		}
	}
	if strings.HasPrefix(words, "of message ") {
		_, words, _ = strings.Cut(words, ", that ")
	}
	return aside.ReplaceAllString(strings.TrimPrefix(words, "that "), "")
}

// heldToDoc checks that the judge gives no other evidence than docs/wire.md.
func heldToDoc(t *testing.T, results []verdict.Result) {
	t.Helper()
	for _, r := range results {
		for _, a := range r.Anomalies {
			row, words := wireRowOf(t, r.Claim.Name), wireWords(a.Text)
			if a.Blame == "" && words == "" || row.always(a.Blame) {
				continue
			}
			if !slices.Contains(row.evidence[a.Blame], words) {
				t.Errorf("docs/wire.md has nothing of %s for %q by %q", r.Claim.Name, a.Blame, words)
			}
		}
	}
}

// docs/wire.md has every claim once, and a story for all evidence.
func TestWireDoc(t *testing.T) {
	rows, _ := wireTable()
	var claims, all []string
	for _, row := range rows {
		claims = append(claims, row.claims...)
	}
	for _, e := range All {
		all = append(all, e.Claim.Name)
	}
	slices.Sort(claims)
	slices.Sort(all)
	if !slices.Equal(claims, all) {
		t.Errorf("docs/wire.md has the claims %v, want %v", claims, all)
	}
	for _, c := range blameStories() {
		if row := wireRowOf(t, c.claim); c.text != "" && !slices.Contains(row.evidence[c.want], c.text) {
			t.Errorf("%s: docs/wire.md does not have %q of %s for %q", c.name, c.text, c.claim, c.want)
		}
	}
	for _, row := range rows {
		for party, list := range row.evidence {
			for _, one := range list {
				if !row.always(party) && !slices.ContainsFunc(blameStories(), func(c blameStory) bool {
					return c.want == party && c.text == one && slices.Contains(row.claims, c.claim)
				}) {
					t.Errorf("no story of %s ends in %q for %q", row.claims, one, party)
				}
			}
		}
	}
}
