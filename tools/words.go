package tools

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Words are the names that a tool brings with it: its own, its parameters with
// their values, and the fields of its answer with theirs.
func (t Tool) Words() ([]string, error) {
	words := []string{t.Name}
	input, err := json.Marshal(inputSchema(t.Params))
	if err != nil {
		return nil, fmt.Errorf("input schema of %s: %w", t.Name, err)
	}
	output, err := answerSchema(t.answer)
	if err != nil {
		return nil, err
	}
	for _, schema := range []json.RawMessage{input, output} {
		var tree any
		if err := json.Unmarshal(schema, &tree); err != nil {
			return nil, fmt.Errorf("schema of %s: %w", t.Name, err)
		}
		words = append(words, schemaWords(tree)...)
	}
	return words, nil
}

// schemaWords are the names of properties in a JSON schema, and the values that
// it lists.
func schemaWords(tree any) (words []string) {
	switch tree := tree.(type) {
	case []any:
		for _, inner := range tree {
			words = append(words, schemaWords(inner)...)
		}
	case map[string]any:
		if properties, ok := tree["properties"].(map[string]any); ok {
			words = append(words, sortedKeys(properties)...)
		}
		values, _ := tree["enum"].([]any)
		for _, value := range append(slices.Clone(values), tree["default"]) {
			if text, ok := value.(string); ok {
				words = append(words, text)
			}
		}
		for _, name := range sortedKeys(tree) {
			words = append(words, schemaWords(tree[name])...)
		}
	}
	return words
}
