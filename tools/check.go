package tools

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/robustmq/rmq-mcp/internal/near"
	"github.com/robustmq/rmq-mcp/internal/plain"
)

// A BadInput says everything that is wrong with a call's arguments. Nothing
// was done.
type BadInput struct {
	Tool     string
	Problems []Problem
	Example  string
}

// A Problem is one thing that is wrong with an argument. Path names the
// argument, and Is describes the problem, with the value as it was given. Kept
// is the description for the record, with the value's shape in place of the
// value.
type Problem struct{ Path, Is, Kept string }

func (b *BadInput) Error() string { return b.text(func(p Problem) string { return p.Path + p.Is }) }

// Recorded is the error as the journal has it.
func (b *BadInput) Recorded() string {
	return b.text(func(p Problem) string { return p.Path + p.Kept })
}

func (b *BadInput) text(of func(Problem) string) string {
	var problems []string
	for _, p := range b.Problems {
		problems = append(problems, of(p))
	}
	text := fmt.Sprintf("%s: %s. Nothing was changed.", b.Tool, strings.Join(problems, "; "))
	if b.Example != "" {
		text += fmt.Sprintf(" A call that works: %s %s", b.Tool, b.Example)
	}
	return text
}

// check compares arguments with a tool's parameters. A value with a plain
// meaning is taken ("3" for 3). Everything else is refused with the right form.
func check(t Tool, args map[string]any) (map[string]any, error) {
	c := checker{}
	out := c.object(t.Params, args, "")
	if len(c.problems) > 0 {
		return nil, &BadInput{Tool: t.Name, Problems: c.problems, Example: t.Example}
	}
	return out, nil
}

type checker struct{ problems []Problem }

// refuse takes what is wrong, of which kept may be recorded.
func (c *checker) refuse(path, is, kept string) any {
	c.problems = append(c.problems, Problem{path, is, kept})
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
			missing := " is missing: " + p.expects()
			c.refuse(strconv.Quote(under+p.Name), missing, missing)
		case p.Default != nil:
			out[p.Name] = p.Default
		}
	}
	for _, name := range sortedKeys(args) {
		if find(params, name) == nil {
			valid := "; valid arguments: " + names(params)
			c.refuse(fmt.Sprintf("unknown argument %q", plain.CutBytes(under+name, longestName)), valid, valid)
		}
	}
	return out
}

func (c *checker) value(p Param, value any, path string) any {
	got, ok := coerce(p, value)
	if !ok {
		return c.refuse(strconv.Quote(path), fmt.Sprintf(" is %s, expected %s", p.describe(value), p.expects()),
			fmt.Sprintf(" is %v, expected %s", shape(value), p.expects()))
	}
	if why := p.wrong(got); why != "" {
		return c.refuse(strconv.Quote(path), fmt.Sprintf(" is %s; %s", p.describe(got), why), fmt.Sprintf(" is %v; %s", shape(got), why))
	}
	object, isObject := got.(map[string]any)
	if isObject && p.Fields != nil {
		return c.object(p.Fields, object, path+".")
	}
	if isObject {
		return exact(object)
	}
	return got
}

// manyValues is the number of values above which only likely ones are named.
const manyValues = 12

// wrong says what is wrong with a value of the right type, "" for nothing.
func (p Param) wrong(got any) string {
	switch v := got.(type) {
	case string:
		if len(v) > p.longest() {
			return fmt.Sprintf("it has %d bytes, expected at most %d", len(v), p.longest())
		}
		if p.Required && strings.TrimSpace(v) == "" {
			return "expected " + p.expects()
		}
		if p.Enum != nil && !contains(p.Enum, v) {
			valid := "valid values: " + strings.Join(p.Enum, ", ")
			if len(p.Enum) > manyValues {
				return strings.Trim(near.Hint(v, p.Enum, valid), " ()")
			}
			return valid
		}
	case float64:
		if p.Max > p.Min && (v < p.Min || v > p.Max) {
			return fmt.Sprintf("expected %s to %s", number(p.Min), number(p.Max))
		}
	case []any:
		return p.wrongItems(v)
	case map[string]any:
		if p.Fields != nil {
			return ""
		}
		if text, err := json.Marshal(v); err != nil || len(text) > mostObject {
			return fmt.Sprintf("expected at most %d bytes", mostObject)
		}
		if exact(v) == nil {
			return "a number in it has more digits than are kept; give it as a string"
		}
	}
	return ""
}

func (p Param) wrongItems(list []any) string {
	if len(list) > mostItems {
		return fmt.Sprintf("expected at most %d", mostItems)
	}
	for _, item := range list {
		text, _ := item.(string)
		if p.Address && strings.Contains(text, "@") {
			return "give host:port, and username and password by themselves"
		}
		if len(text) > p.longest() {
			return fmt.Sprintf("one has %d bytes, expected at most %d", len(text), p.longest())
		}
	}
	return ""
}

// exact copies a value of any fields with its numbers as float64; nil where one
// would lose digits.
func exact(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, ok := coerceNumber(Number, v); ok {
			return n
		}
		return nil
	case []any:
		out := make([]any, len(v))
		for i, item := range v {
			if out[i] = exact(item); out[i] == nil && item != nil {
				return nil
			}
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, item := range v {
			if out[name] = exact(item); out[name] == nil && item != nil {
				return nil
			}
		}
		return out
	}
	return value
}

// coerce answers the value as the parameter's type, if it can be meant so.
func coerce(p Param, value any) (any, bool) {
	switch p.Type {
	case String:
		switch v := value.(type) {
		case string:
			return v, true
		case json.Number:
			return v.String(), true
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
			err := unmarshal([]byte(text), &object)
			return object, err == nil && object != nil
		}
		object, ok := value.(map[string]any)
		return object, ok
	case Array:
		return coerceArray(p, value)
	}
	return nil, false
}

// coerceNumber takes a number as it is written, and one that a string holds. An
// integer that a float64 would round is refused.
func coerceNumber(t Type, value any) (any, bool) {
	var n float64
	switch v := value.(type) {
	case float64:
		n = v
	case json.Number:
		return coerceNumber(t, v.String())
	case string:
		v = strings.TrimSpace(v)
		parsed, err := strconv.ParseFloat(v, 64)
		if whole, isWhole := new(big.Int).SetString(v, 10); err != nil || isWhole && !whole.IsInt64() || isWhole && int64(parsed) != whole.Int64() {
			return nil, false
		}
		n = parsed
	default:
		return nil, false
	}
	if math.IsNaN(n) || math.IsInf(n, 0) || t == Integer && (n != math.Trunc(n) || math.Abs(n) > 1<<53) {
		return nil, false
	}
	return n, true
}

// unmarshal reads JSON with its numbers as they are written.
func unmarshal(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the value")
	}
	return nil
}

// coerceArray takes a single value for an array of one.
func coerceArray(p Param, value any) (any, bool) {
	list, ok := value.([]any)
	if !ok {
		if text, isText := value.(string); !isText || unmarshal([]byte(text), &list) != nil {
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

// describe is a value as it was given. Where a secret may be in it only its shape is
// told: what is told is recorded.
func (p Param) describe(value any) string {
	if p.Secret || p.Address || slices.ContainsFunc(p.Fields, func(f Param) bool { return f.Secret }) {
		return fmt.Sprint(shape(value))
	}
	if text, ok := value.(string); ok && strings.TrimSpace(text) == "" {
		return "empty"
	}
	return describe(value)
}

func describe(value any) string {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Sprintf("a %T", value)
	}
	return plain.CutBytes(plain.Line(string(text)), 60)
}

func number(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }
