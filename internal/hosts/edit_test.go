package hosts

import (
	"reflect"
	"strings"
	"testing"
)

// FuzzEdit adds an entry to any text, and takes it out again: what was said
// before is said after, or the text is refused.
func FuzzEdit(f *testing.F) {
	for _, list := range []map[string]string{texts, tomls} {
		for _, text := range list {
			f.Add([]byte(strings.ReplaceAll(text, `"{}"`, `"mcpServers"`)))
		}
	}
	f.Add([]byte("{\"mcpServers\": {\"a\": 1 // x\n, \"rmq-mcp\": {} }}"))
	f.Add([]byte("{\"mcpServers\": {\"rmq-mcp\": {}, /* b */ \"a\": 1 // x\n}}"))
	f.Add([]byte("{\"mcpServers\": { // x\n\"rmq-mcp\": {} /* y */ ,}}"))
	f.Add([]byte("{\"//\":0}"))
	f.Add([]byte("{\"mcpServers\": {\"a\": {\"url\": \"https://a\"}, \"rmq-mcp\": {} }}"))
	f.Add([]byte("{\"mcpServers\": { /* // */ \"rmq-mcp\": {} /* y */ ,}}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, s := range []syntax{jsonText{}, jsonText{plain: true}, tomlText{}} {
			was, err := s.decode(text)
			if err != nil {
				continue
			}
			path := []string{"mcpServers", Name}
			if parent, ok := lookup(was, path[:1]); ok {
				delete(parent, Name)
			}
			with, err := put(s, text, path, entry.fields(Host{}))
			if err != nil {
				continue
			}
			without, err := drop(s, with, path)
			if err != nil {
				t.Fatalf("%q, with the entry %q: %v", text, with, err)
			}
			got, err := s.decode(without)
			prune(was, path)
			prune(got, path)
			if err != nil || !reflect.DeepEqual(got, was) {
				t.Fatalf("%q, with the entry %q, without it %q: %v", text, with, without, err)
			}
		}
	})
}
