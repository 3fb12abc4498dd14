package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// An Answer is what every tool answers: one sentence, and at most three things
// to do next. The rest of what the model needs lies beside it in the same
// object, because some hosts show the model nothing else.
type Answer struct {
	Summary   string   `json:"summary"`
	NextSteps []string `json:"next_steps"`
}

func answer(summary string, next ...string) Answer {
	if len(next) > 3 {
		next = next[:3]
	}
	return Answer{Summary: summary, NextSteps: next}
}

// listedSchema is an answer's schema as the list of tools has it: the names of
// the fields that are always there. Every session pays for it, and few hosts show
// it to a model.
func listedSchema(t reflect.Type) (json.RawMessage, error) {
	text, err := answerSchema(t)
	if err != nil {
		return nil, err
	}
	var schema struct {
		Required []string `json:"required"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	always := map[string]any{}
	for _, name := range schema.Required {
		if name != "summary" && name != "next_steps" { // the instructions have them
			always[name] = struct{}{}
		}
	}
	return json.Marshal(map[string]any{"type": "object", "properties": always})
}

// answerSchema is the JSON schema of an answer. Lists in answers are never
// null, so their schemas do not allow it.
func answerSchema(t reflect.Type) (json.RawMessage, error) {
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{})
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	for i := range t.NumField() {
		if part := t.Field(i); part.Anonymous && part.Type.Kind() == reflect.Pointer { // nil leaves all of its fields out
			inner, err := jsonschema.ForType(part.Type.Elem(), &jsonschema.ForOptions{})
			if err != nil {
				return nil, fmt.Errorf("schema of %s: %w", t, err)
			}
			schema.Required = slices.DeleteFunc(schema.Required, func(name string) bool { return slices.Contains(inner.Required, name) })
		}
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	var tree any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", t, err)
	}
	return json.Marshal(withoutNull(tree))
}

// withoutNull makes "type": ["null", "array"] an array.
func withoutNull(node any) any {
	switch n := node.(type) {
	case []any:
		for i := range n {
			n[i] = withoutNull(n[i])
		}
	case map[string]any:
		for key, value := range n {
			n[key] = withoutNull(value)
		}
		if types, ok := n["type"].([]any); ok && len(types) == 2 && types[0] == "null" && types[1] == "array" {
			n["type"] = "array"
		}
	}
	return node
}

// answerBytes is how much of a list an answer shows: with the rest of it about
// 1,500 tokens.
const answerBytes = 4_500

// fitting are the first of a list, at least one, for which there is room in bytes.
func fitting[T any](list []T, left int) []T {
	for i := range list {
		text, err := json.Marshal(list[i])
		if left -= len(text); i > 0 && (left < 0 || err != nil) {
			return list[:i]
		}
	}
	return list
}

// neverNull replaces nil slices by empty ones and nil maps by empty ones, all
// the way down, so that a reader needs no special case for nothing. Numbers
// lose the digits that nobody measured.
func neverNull(v any) any {
	value := reflect.New(reflect.TypeOf(v)).Elem()
	value.Set(reflect.ValueOf(v))
	fill(value)
	return value.Interface()
}

func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		if !v.IsNil() {
			fill(v.Elem())
		}
	case reflect.Float64:
		if v.CanSet() {
			v.SetFloat(legible(v.Float()))
		}
	case reflect.Array:
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Slice:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		}
		for i := range v.Len() {
			fill(v.Index(i))
		}
	case reflect.Map:
		if v.IsNil() && v.CanSet() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	}
}

// legible keeps three decimals, of small numbers six.
func legible(f float64) float64 {
	scale := 1e3
	if math.Abs(f) < 1 {
		scale = 1e6
	}
	return math.Round(f*scale) / scale
}
