package tools

import (
	"reflect"
	"strings"

	"github.com/robustmq/rmq-mcp/campaigns/catalog"
	"github.com/robustmq/rmq-mcp/campaigns/plan"
	"github.com/robustmq/rmq-mcp/clients"
	"github.com/robustmq/rmq-mcp/faults"
	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/internal/envelope"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/scenarios"
	"github.com/robustmq/rmq-mcp/skills"
)

// Vocabulary is the names of this program, for texts that agents read. Command says what is wrong with
// a command line.
func Vocabulary(command func(line string) error) (skills.Vocabulary, error) {
	words := []string{"true", "false", "disk", "clock", "tap", "example", "latest"} // values that no schema lists
	for _, t := range All(Backend{}, envelope.Envelope{}) {
		more, err := t.Words()
		if err != nil {
			return skills.Vocabulary{}, err
		}
		words = append(words, more...)
	}
	library, err := scenarios.Library()
	if err != nil {
		return skills.Vocabulary{}, err
	}
	for _, s := range library {
		words = append(words, s.Name)
		for tier := range s.Tiers {
			words = append(words, tier)
		}
	}
	words = append(words, faultWords()...)
	words = append(words, judgeWords()...)
	for _, s := range clients.SDKs() {
		words = append(append(words, s.String()), s.Protocols...)
	}
	words = append(words, fields(reflect.TypeFor[plan.Plan]())...)
	words = append(words, fields(reflect.TypeFor[scenarios.Scenario]())...)
	words = append(words, fields(reflect.TypeFor[scenarios.Tier]())...)
	v := skills.Vocabulary{Names: map[string]bool{}, Command: command}
	for _, w := range words {
		v.Names[w] = true
	}
	return v, nil
}

// faultWords are the types of faults with their parameters and targets.
func faultWords() (words []string) {
	for _, k := range faults.Catalog() {
		words = append(append(words, k.Type, k.Family), k.Targets...)
		for _, p := range k.Parameters() {
			words = append(append(words, p.Name), p.OneOf...)
		}
	}
	return words
}

// judgeWords are the claims and all that a judge may answer.
func judgeWords() (words []string) {
	for _, c := range catalog.Claims() {
		words = append(words, c.Name, string(c.Category), c.Checker)
	}
	for _, row := range verdict.States {
		words = append(words, string(row.State))
	}
	words = append(words, string(verdict.PassSmoke), string(verdict.PassHardening), string(verdict.FailReproducible), string(verdict.FailNondetermin), string(verdict.FailOnce))
	for _, s := range []verdict.Status{verdict.Pass, verdict.Fail, verdict.Unknown} {
		words = append(words, string(s))
	}
	for _, s := range []history.LandingState{history.Landed, history.NotLanded, history.Partial, history.Indeterminate, history.Unsupported} {
		words = append(words, string(s))
	}
	for _, o := range []verdict.Outcome{verdict.OutcomeFail, verdict.OutcomeDone, verdict.OutcomeConcerns, verdict.OutcomeInconclusive, verdict.OutcomeBlocked} {
		words = append(words, string(o))
	}
	return words
}

// fields are what a type's fields are called in YAML, and those of their types.
func fields(t reflect.Type) (names []string) {
	switch t.Kind() {
	case reflect.Slice, reflect.Map, reflect.Pointer:
		return fields(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			if name != "" && name != "-" {
				names = append(names, name)
			}
			names = append(names, fields(f.Type)...)
		}
	}
	return names
}
