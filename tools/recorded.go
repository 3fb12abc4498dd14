package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/plain"
	"github.com/robustmq/rmq-mcp/internal/secret"
)

// recorded is what the journal keeps of a call's arguments: the values of those
// that the tool has, but for its secrets, and of anything else the shape. An
// agent that gives a password in the wrong place must not find it in a record.
func recorded(params []Param, args map[string]any) map[string]any {
	out := make(map[string]any, len(args))
	for name, value := range args {
		if p := find(params, name); p != nil {
			out[name] = p.recorded(value)
		} else {
			out[plain.CutBytes(name, longestName)] = shape(value)
		}
	}
	return out
}

func (p Param) recorded(value any) any {
	got, ok := coerce(p, value)
	switch {
	case value == nil:
		return nil
	case p.Secret:
		return secret.Hidden
	case !ok || p.wrong(got) != "":
		return shape(value)
	case p.Fields != nil:
		return recorded(p.Fields, got.(map[string]any))
	}
	return withoutSecrets(got)
}

const longestName = 64

// shape says what a value is, and nothing that is in it.
func shape(value any) any {
	switch v := value.(type) {
	case string:
		return fmt.Sprintf("a string of %d bytes", len(v))
	case float64, json.Number:
		return "a number"
	case bool:
		return "a boolean"
	case []any:
		return fmt.Sprintf("an array of %d", len(v))
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		return plain.CutBytes("an object of "+strings.Join(names, ", "), 4*longestName)
	}
	return nil
}

// withoutSecrets copies a value of the flavor's or the fault's own keys. A secret
// is known by its key, or as a broker would print it.
func withoutSecrets(value any) any {
	switch v := value.(type) {
	case string:
		return secret.New().Text(v)
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			out[i] = withoutSecrets(item)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			if _, isFlag := item.(bool); !isFlag && secret.Names(name) {
				out[name] = secret.Hidden
			} else {
				out[name] = withoutSecrets(item)
			}
		}
		return out
	}
	return value
}
