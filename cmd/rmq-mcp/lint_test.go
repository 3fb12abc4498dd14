package main

import (
	"strings"
	"testing"
)

// Every skill of this program names only what there is.
func TestSkills(t *testing.T) {
	var out strings.Builder
	if err := lintSkills(&out, nil); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestCommandLines(t *testing.T) {
	for line, want := range map[string]string{
		"rmq-mcp":                                 "",
		"rmq-mcp list claims":                     "",
		"rmq-mcp list":                            "",
		"rmq-mcp list clams":                      `arguments are ["clams"]`,
		"rmq-mcp lists":                           `no command "lists"`,
		"rmq-mcp plan plan.md":                    "",
		"rmq-mcp plan headline":                   "",
		"rmq-mcp plan headlines":                  `no command "headlines"`,
		"rmq-mcp reduce RUN":                      "",
		"rmq-mcp reduce":                          "",
		"rmq-mcp campaign --for 8h":               "",
		"rmq-mcp campaign --for long":             `invalid argument "long"`,
		"rmq-mcp conformance --flavour robustmq":  "unknown flag: --flavour",
		"rmq-mcp conformance --flavor robustmq":   "",
		"rmq-mcp run mqtt/broker-kill-9 --seed 3": "",
	} {
		err := isCommand(line)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, expected %q", line, err, want)
		}
	}
}
