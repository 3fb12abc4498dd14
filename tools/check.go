package tools

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A BadInput says everything that is wrong with a call's arguments. Nothing
// was done.
type BadInput struct {
	Tool     string
	Problems []string
	Example  string
}

func (b *BadInput) Error() string {
	text := fmt.Sprintf("%s: %s. Nothing was changed.", b.Tool, strings.Join(b.Problems, "; "))
	if b.Example != "" {
		text += fmt.Sprintf(" A call that works: %s %s", b.Tool, b.Example)
	}
	return text
}

// check compares arguments with a tool's parameters. What is plainly meant is
// taken ("3" for 3); everything else is refused with what would be right.
func check(t Tool, args map[string]any) (map[string]any, error) {
	c := checker{}
	out := c.object(t.Params, args, "")
	if len(c.problems) > 0 {
		return nil, &BadInput{Tool: t.Name, Problems: c.problems, Example: t.Example}
	}
	return out, nil
}

type checker struct{ problems []string }

func (c *checker) refuse(format string, args ...any) any {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
	return nil
}

func (c *checker) object(params []Param, args map[string]any, under string) map[string]any {
	out := map[string]any{}
	for _, p := range params {
		value, given := args[p.Name]
		switch {
		case given && value != nil:
			out[p.Name] = c.value(p, value, under+p.Name)
		case p.Required:
			c.refuse("%q is missing: %s", under+p.Name, p.expects())
		case p.Default != nil:
			out[p.Name] = p.Default
		}
	}
	for _, name := range sortedKeys(args) {
		if find(params, name) == nil {
			c.refuse("unknown argument %q; valid arguments: %s", under+name, names(params))
		}
	}
	return out
}

func (c *checker) value(p Param, value any, path string) any {
	got, ok := coerce(p, value)
	if !ok {
		return c.refuse("%q is %s, expected %s", path, describe(value), p.expects())
	}
	switch v := got.(type) {
	case string:
		if p.Required && strings.TrimSpace(v) == "" {
			return c.refuse("%q is empty: %s", path, p.expects())
		}
		if p.Enum != nil && !contains(p.Enum, v) {
			return c.refuse("%q is %q; valid values: %s", path, v, strings.Join(p.Enum, ", "))
		}
	case float64:
		if p.Max > p.Min && (v < p.Min || v > p.Max) {
			return c.refuse("%q is %s, expected %s to %s", path, number(v), number(p.Min), number(p.Max))
		}
	case map[string]any:
		if p.Fields != nil {
			return c.object(p.Fields, v, path+".")
		}
	}
	return got
}

// coerce answers the value as the parameter's type, if it can be meant so.
func coerce(p Param, value any) (any, bool) {
	switch p.Type {
	case String:
		switch v := value.(type) {
		case string:
			return v, true
		case float64:
			return number(v), true
		}
	case Integer, Number:
		return coerceNumber(p.Type, value)
	case Boolean:
		if text, ok := value.(string); ok {
			b, err := strconv.ParseBool(text)
			return b, err == nil
		}
		b, ok := value.(bool)
		return b, ok
	case Object:
		if text, ok := value.(string); ok {
			var object map[string]any
			err := json.Unmarshal([]byte(text), &object)
			return object, err == nil && object != nil
		}
		object, ok := value.(map[string]any)
		return object, ok
	case Array:
		return coerceArray(p, value)
	}
	return nil, false
}

func coerceNumber(t Type, value any) (any, bool) {
	n, ok := value.(float64)
	if text, isText := value.(string); isText {
		parsed, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		n, ok = parsed, err == nil
	}
	if !ok || math.IsNaN(n) || math.IsInf(n, 0) || t == Integer && (n != math.Trunc(n) || math.Abs(n) > 1<<53) {
		return nil, false
	}
	return n, true
}

// coerceArray takes a single value for an array of one.
func coerceArray(p Param, value any) (any, bool) {
	list, ok := value.([]any)
	if !ok {
		if text, isText := value.(string); !isText || json.Unmarshal([]byte(text), &list) != nil {
			list = []any{value}
		}
	}
	out := make([]any, 0, len(list))
	for _, item := range list {
		got, ok := coerce(Param{Type: p.Items}, item)
		if !ok {
			return nil, false
		}
		out = append(out, got)
	}
	return out, true
}

// expects says what a parameter takes, with an example.
func (p Param) expects() string {
	text := map[Type]string{
		String: "a string", Integer: "an integer", Number: "a number",
		Boolean: "true or false", Object: "an object", Array: "an array of " + string(p.Items) + "s",
	}[p.Type]
	switch {
	case p.Enum != nil:
		text += ", one of " + strings.Join(p.Enum, ", ")
	case p.Max > p.Min:
		text += fmt.Sprintf(" from %s to %s", number(p.Min), number(p.Max))
	}
	if p.Example != "" {
		text += ", such as " + p.Example
	}
	return text
}

func describe(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a %T", value)
	}
	return shorten(string(text), 60)
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
