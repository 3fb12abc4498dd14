// Package yamlfile reads the YAML that people write. An unknown key is an error, and
// errors name the line, the key and what was expected, and no type of this program.
package yamlfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Decode reads one document over what into has already. An empty text is [io.EOF].
func Decode(text []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return err
	}
	if err != nil {
		return errors.New(Words(err))
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return errors.New(Words(err))
	}
	if cut := fractions(&document, reflect.TypeOf(into)); len(cut) > 0 {
		return errors.New(strings.Join(cut, "; "))
	}
	return nil
}

// fractions are the numbers that are no whole ones where those are expected: the
// decoder would cut 1.5 to 1.
func fractions(n *yaml.Node, t reflect.Type) (cut []string) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case n.Kind == yaml.DocumentNode && len(n.Content) == 1:
		return fractions(n.Content[0], t)
	case n.Kind == yaml.AliasNode:
		return fractions(n.Alias, t)
	case n.Kind == yaml.SequenceNode && t.Kind() == reflect.Slice:
		for _, item := range n.Content {
			cut = append(cut, fractions(item, t.Elem())...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Map:
		for i := 1; i < len(n.Content); i += 2 {
			cut = append(cut, fractions(n.Content[i], t.Elem())...)
		}
	case n.Kind == yaml.MappingNode && t.Kind() == reflect.Struct:
		for i := 1; i < len(n.Content); i += 2 {
			if n.Content[i-1].ShortTag() == "!!merge" {
				cut = append(cut, fractions(n.Content[i], t)...)
			} else if field, known := fieldOf(t, n.Content[i-1].Value); known {
				cut = append(cut, fractions(n.Content[i], field)...)
			}
		}
	case n.Kind == yaml.ScalarNode && n.ShortTag() == "!!float" && t.Kind() >= reflect.Int && t.Kind() <= reflect.Uintptr:
		if value, err := strconv.ParseFloat(n.Value, 64); err != nil || value != math.Trunc(value) {
			cut = append(cut, fmt.Sprintf("line %d: expected a whole number, found %q", n.Line, n.Value))
		}
	}
	return cut
}

// fieldOf is the type of a struct's field, by its key.
func fieldOf(t reflect.Type, key string) (reflect.Type, bool) {
	for i := range t.NumField() {
		name, flags, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ",")
		if name == key {
			return t.Field(i).Type, true
		}
		if flags == "inline" {
			if field, known := fieldOf(t.Field(i).Type, key); known {
				return field, true
			}
		}
	}
	return nil, false
}

// Words are an error of the decoder as the writer of the text understands it.
func Words(err error) string {
	lines := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if wrong := new(yaml.TypeError); errors.As(err, &wrong) {
		lines = wrong.Errors
	}
	for i, line := range lines {
		line = unknownKey.ReplaceAllString(line, `no key "$1"`)
		lines[i] = unlike.ReplaceAllStringFunc(line, func(match string) string {
			m := unlike.FindStringSubmatch(match)
			return "expected " + kindOf(m[3]) + ", found " + found(m[1], m[2])
		})
	}
	return strings.Join(lines, "; ")
}

var (
	unknownKey = regexp.MustCompile(`field (\S+) not found in type \S+`)
	wholeType  = regexp.MustCompile(`^u?int\d*$`)
	unlike     = regexp.MustCompile("cannot unmarshal (!!\\w+)(?: `(.*?)`)? into (\\S+)")
)

// kindOf says what a type of ours takes.
func kindOf(goType string) string {
	switch {
	case strings.HasPrefix(goType, "[]"):
		return "a list"
	case strings.HasPrefix(goType, "map["):
		return "keys with values"
	case wholeType.MatchString(goType):
		return "a whole number"
	case strings.HasPrefix(goType, "float"):
		return "a number"
	case goType == "bool":
		return "true or false"
	case goType == "string":
		return "a text"
	}
	return "keys with values"
}

// found says what stands there.
func found(tag, value string) string {
	switch {
	case value != "":
		return `"` + value + `"`
	case tag == "!!seq":
		return "a list"
	case tag == "!!map":
		return "keys with values"
	}
	return "nothing"
}
