package yamlfile

import (
	"errors"
	"io"
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	type inner struct {
		AtS float64 `yaml:"at_s"`
	}
	type count int
	type Also struct {
		Most count `yaml:"most"`
	}
	type outer struct {
		Also   `yaml:",inline"`
		Name   string         `yaml:"name"`
		Nodes  int            `yaml:"nodes"`
		On     bool           `yaml:"on"`
		Seeds  []int64        `yaml:"seeds"`
		Steps  []inner        `yaml:"steps"`
		Params map[string]any `yaml:"params"`
		In     inner          `yaml:"in"`
	}
	for text, want := range map[string]string{
		"name: a\nnodes: 3\n":             "",
		"name: a\nnode: 3\n":              `line 2: no key "node"`,
		"params: {rate: 0.5}":             "",
		"nodes: three":                    `line 1: expected a whole number, found "three"`,
		"nodes: 1.5":                      `line 1: expected a whole number, found "1.5"`,
		"most: 1.5":                       `line 1: expected a whole number, found "1.5"`,
		"name: &a 1.5\nnodes: *a":         `line 1: expected a whole number, found "1.5"`,
		"params: &a {nodes: 1.5}\n<<: *a": `line 1: expected a whole number, found "1.5"`,
		"nodes: [3]":                      "line 1: expected a whole number, found a list",
		"on: maybe":                       `line 1: expected true or false, found "maybe"`,
		"seeds: 7":                        `line 1: expected a list, found "7"`,
		"seeds: [x]":                      `line 1: expected a whole number, found "x"`,
		"params: [a]":                     "line 1: expected keys with values, found a list",
		"in: 7":                           `line 1: expected keys with values, found "7"`,
		"steps:\n  - at_s: soon":          `line 2: expected a number, found "soon"`,
		"name: {a: 1}":                    "line 1: expected a text, found keys with values",
		"node: 1\nnodes: x":               `line 1: no key "node"; line 2: expected a whole number, found "x"`,
		"name: [":                         "line 1: ",
		"name: &a [*a]\n":                 "",
		"name: a\nname: b\n":              `mapping key "name" already defined`,
		"--- !!int x\n":                   "cannot decode",
	} {
		err := Decode([]byte(text), &outer{})
		if want == "" && !strings.Contains(text, "&a") && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
		if err != nil && (strings.Contains(err.Error(), "yamlfile.") || strings.Contains(err.Error(), "float64") || strings.Contains(err.Error(), "unmarshal")) {
			t.Errorf("%q: in words of Go: %v", text, err)
		}
	}
	if err := Decode(nil, &outer{}); !errors.Is(err, io.EOF) {
		t.Errorf("an empty text: %v", err)
	}
}
