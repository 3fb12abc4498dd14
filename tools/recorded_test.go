package tools

import (
	"encoding/json"
	"strings"
	"testing"
)

// A password is recorded nowhere, wherever in a call an agent puts it; and what
// else was asked for is.
func TestNoSecretIsRecorded(t *testing.T) {
	const secret = "S3cr3t-hunter2"
	for _, args := range []string{
		`{"config":{"flavor":"external","password":"SECRET"}}`,
		`{"config":"{\"flavor\":\"external\",\"username\":\"u\",\"password\":\"SECRET\"}"}`,
		`{"config":"{\"flavor\":\"external\",\"password\":\"SECRET\""}`,
		`{"config":{"flavor":"external","password":["SECRET"]}}`,
		`{"config":{"flavor":"external","passwd":"SECRET"}}`,
		`{"config":{"flavor":"external","pass":"SECRET"}}`,
		`{"config":"{\"flavor\":\"external\",\"pass\":\"SECRET\"}"}`,
		`{"config":{"flavor":"external","endpoints":["u:SECRET@127.0.0.1:1883"]}}`,
		`{"config":{"flavor":"external","endpoints":"mqtt://u:SECRET@127.0.0.1:1883"}}`,
		`{"config":{"flavor":"external","settings":{"auth":{"password":"SECRET"}}}}`,
		`{"config":{"flavor":"external","settings":{"db.pass":"SECRET"}}}`,
		`{"config":{"flavor":"external","settings":{"passwords":"SECRET"}}}`,
		`{"config":{"flavor":"external","settings":{"token_value":"SECRET"}}}`,
		`{"config":{"flavor":"external","settings":{"url":"postgres://u:SECRET@db"}}}`,
		`{"config":{"flavor":"external","settings":"{\"api_key\":\"SECRET\"}"}}`,
		`{"config":{"flavor":"external"},"password":"SECRET"}`,
		`{"config":{"flavor":"SECRET"}}`,
		`{"config":["external","SECRET"]}`,
		`{"config":{"flavor":"external"},"nodes":"SECRET"}`,
	} {
		j := &memoryJournal{}
		c := connectTo(t, (&host{}).server(t, Options{Journal: j}))
		var given map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(args, "SECRET", secret)), &given); err != nil {
			t.Fatal(err)
		}
		callTool(t, c, "cluster_start", given)
		calls, err := json.Marshal([]any{j.calls, j.answers})
		if err != nil || len(j.calls) != 1 || len(j.answers) != 1 {
			t.Fatalf("%s: %d calls, %d answers, %v", args, len(j.calls), len(j.answers), err)
		}
		if strings.Contains(string(calls), secret) {
			t.Errorf("%s is recorded as %s", args, calls)
		}
		if _, named := given["config"]; named && !strings.Contains(string(calls), "config") {
			t.Errorf("%s: the record does not say what was given: %s", args, calls)
		}
	}
}

func TestShape(t *testing.T) {
	for given, want := range map[string]string{
		`"secret"`: `"a string of 6 bytes"`, `7`: `"a number"`, `true`: `"a boolean"`, `[1,2]`: `"an array of 2"`,
		`{"b":"secret","a":1}`: `"an object of a, b"`, `null`: `null`,
	} {
		var value any
		if err := json.Unmarshal([]byte(given), &value); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(shape(value)); err != nil || string(got) != want {
			t.Errorf("%s is %s, %v; want %s", given, got, err, want)
		}
	}
}
