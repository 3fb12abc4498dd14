package tools

import (
	"cmp"
	"slices"
)

// Type is a JSON type of a parameter.
type Type string

const (
	String  Type = "string"
	Integer Type = "integer"
	Number  Type = "number"
	Boolean Type = "boolean"
	Object  Type = "object"
	Array   Type = "array"
)

// A Param is one parameter of a tool, or one field of an object parameter. It
// is the source of both the input schema and the messages about bad input.
type Param struct {
	Name     string
	Type     Type
	About    string
	Required bool
	Enum     []string // of a string
	Long     bool     // the schema leaves Enum out: preflight or the schema of another tool lists it
	Min, Max float64  // of a number, where Max > Min
	Default  any
	Fields   []Param // of an object; none: any field
	Unlisted bool    // the schema leaves it out: the text of another parameter names it
	Items    Type    // of an array
	Most     int     // bytes of a string, or of each in an array; 0: mostString
	Example  string  // as JSON
	Secret   bool    // never recorded
	Address  bool    // host:port, or several: without a user and a password
}

// Bounds of what one argument may be.
const (
	mostString = 1000     // bytes
	mostItems  = 200      // of an array
	mostObject = 16 << 10 // bytes as JSON, of an object with any fields
	mostPlan   = 100 << 10
	mostProse  = 20 << 10
)

// longest is how many bytes a string may have.
func (p Param) longest() int { return cmp.Or(p.Most, mostString) }

// inputSchema is the JSON schema of an object with the parameters as its
// properties. It leaves out what an error says better, the bounds of numbers and
// that there are no other properties, because every session pays for it.
func inputSchema(params []Param) map[string]any {
	properties := map[string]any{}
	schema := map[string]any{"type": "object", "properties": properties}
	var required []string
	for _, p := range params {
		if !p.Unlisted {
			properties[p.Name] = p.schema()
		}
		if p.Required {
			required = append(required, p.Name)
		}
	}
	if required != nil {
		schema["required"] = required
	}
	return schema
}

func (p Param) schema() map[string]any {
	schema := map[string]any{"type": p.Type}
	if p.Type == Object && slices.ContainsFunc(p.Fields, func(f Param) bool { return !f.Unlisted }) {
		schema = inputSchema(p.Fields)
	}
	if p.About != "" {
		schema["description"] = p.About
	}
	if p.Enum != nil && !p.Long {
		schema["enum"] = p.Enum
	}
	if p.Default != nil {
		schema["default"] = p.Default
	}
	if p.Items != "" {
		schema["items"] = map[string]any{"type": p.Items}
	}
	return schema
}
