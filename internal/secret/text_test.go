package secret

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// A secret is in no form of what it is part of.
func TestTextCannotBeWritten(t *testing.T) {
	type inner struct{ Password, hidden Text }
	type outer struct {
		In  inner           `json:"in"`
		Ptr *Text           `json:"ptr"`
		All []Text          `json:"all"`
		By  map[string]Text `json:"by"`
	}
	s := NewText("hunter2")
	v := outer{inner{s, s}, &s, []Text{s}, map[string]Text{"a": s}}
	asJSON, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	asYAML, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "v", v, "s", s)
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "v", v, "s", s)
	ways := map[string]string{"JSON": string(asJSON), "YAML": string(asYAML), "a log": log.String(), "an error": fmt.Errorf("%v of %w", s, fmt.Errorf("%v", v.In)).Error()}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X"} {
		ways[verb] = fmt.Sprintf(verb+verb, v, s)
	}
	for how, text := range ways {
		if strings.Contains(text, "hunter2") || strings.Contains(text, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("as %s it is %s", how, text)
		}
	}
}

func TestTextIsTakenIn(t *testing.T) {
	for given, want := range map[string]string{`"hunter2"`: "hunter2", `""`: "", `"[scrubbed]"`: "", `null`: ""} {
		var v struct {
			Password Text `json:"password,omitzero"`
		}
		if err := json.Unmarshal([]byte(`{"password":`+given+`}`), &v); err != nil || v.Password.Reveal() != want {
			t.Errorf("%s is %q, %v, want %q", given, v.Password.Reveal(), err, want)
		}
		if text, err := json.Marshal(v); err != nil || (string(text) == "{}") != (want == "") {
			t.Errorf("%s is written as %s, %v", given, text, err)
		}
	}
}
