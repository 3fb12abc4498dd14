package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/code"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A CodeAsk is what find_code asks for.
type CodeAsk struct {
	ID      string   // of a run or of a finding
	Claim   string   // the failure of which; "" for any
	Texts   []string // to look for beside what the run's logs have
	Version string   // "" is the broker's own
	Most    int      // places
}

// CodeAnswer are the places in the broker's source that a run points at, the most telling
// first.
type CodeAnswer struct {
	Answer
	Tree    string      `json:"tree"`
	Places  []CodePlace `json:"places"`
	Left    int         `json:"left_out"` // places that did not fit
	Unfound []string    `json:"unfound"`  // clues that the source does not have, the first of many
	Notes   []string    `json:"notes"`
}

// A CodePlace is one place, with the source around it.
type CodePlace struct {
	At       string `json:"at"` // file:line
	Function string `json:"function,omitempty"`
	Kind     string `json:"kind"`
	Clue     string `json:"clue"`
	From     string `json:"from,omitempty"` // log and line of the first
	Matched  string `json:"matched"`        // text that both have
	Count    int    `json:"count"`
	During   string `json:"during_failure"`   // "" where nobody knows
	Others   int    `json:"others"`           // places that fit as well
	Source   string `json:"source,omitempty"` // of the first places
}

// sourcesShown is how many places an answer shows with the source around them.
const sourcesShown = 4

func (a *agent) findCode() Tool {
	type args struct {
		ID      string   `json:"id"`
		Texts   []string `json:"texts"`
		Version string   `json:"version"`
		Limit   int      `json:"limit"`
	}
	t := Tool{
		Name:        "find_code",
		Description: "Places in the broker's source that a run points at: by its panics, warnings and errors, and texts that you name.",
		Params: []Param{
			{Name: "id", Type: String, Required: true, About: "of a run or a finding"},
			{Name: "texts", Type: Array, Items: String, About: "error texts, metrics, routes"},
			{Name: "version", Type: String, About: "git reference; default: the run's"},
			{Name: "limit", Type: Integer, Min: 1, Max: 50, Default: float64(12)},
		},
		Example: `{"id":"latest"}`,
		Hints:   Hints{ReadOnly: true},
		hidden:  a.backend.Code == nil,
	}
	return handler(t, func(ctx context.Context, _ *Call, in args) (CodeAnswer, error) {
		found, err := a.backend.Code(ctx, CodeAsk{ID: in.ID, Texts: in.Texts, Version: in.Version, Most: in.Limit})
		if err != nil {
			return CodeAnswer{}, fmt.Errorf("find_code: %w", err)
		}
		out := CodeAnswer{Tree: found.Tree, Unfound: found.Unfound, Notes: found.Notes}
		var places []CodePlace
		for i, p := range found.Places {
			place := CodePlace{At: fmt.Sprintf("%s:%d", p.File, p.Line), Function: p.Function, Kind: p.Kind, Clue: plain.CutBytes(p.Clue, briefly), From: p.From, Matched: plain.CutBytes(p.Matched, briefly), Count: p.Count, During: string(p.During), Others: p.Others}
			if i < sourcesShown {
				place.Source = source(p.Around)
			}
			places = append(places, place)
		}
		out.Places = fitting(places, answerBytes)
		out.Left = found.Left + len(places) - len(out.Places)
		out.Answer = answer(fmt.Sprintf("%s in %s", plural(len(out.Places), "place"), found.Tree), "read the functions in your own copy of the source", "push_report with them in code_paths")
		return out, nil
	})
}

// source are lines with their numbers.
func source(lines []code.Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%d %s\n", l.Number, l.Text)
	}
	return b.String()
}
