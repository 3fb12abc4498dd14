package plain

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// Placeless is a text without the paths of this machine: the state directory, the one that the
// process works in, and the home.
func Placeless(text, dir string) string {
	work, _ := os.Getwd()
	home, _ := os.UserHomeDir()
	for _, place := range []struct{ path, name string }{{dir, "STATE"}, {work, "."}, {home, "HOME"}} {
		if !filepath.IsAbs(place.path) || filepath.Dir(place.path) == place.path {
			continue
		}
		text = replacePath(text, place.path, place.name)
		if quoted, err := json.Marshal(place.path); err == nil { // a document escapes the backslashes of a path
			text = replacePath(text, strings.Trim(string(quoted), `"`), place.name)
		}
	}
	return text
}

// replacePath replaces a path, and the beginning of a path below it, but no part of a name.
func replacePath(text, path, by string) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, path)
		out.WriteString(before)
		if !found {
			return out.String()
		}
		if endsInName(before) || beginsWithName(after) {
			out.WriteString(path)
		} else {
			out.WriteString(by)
		}
		text = after
	}
}

func endsInName(before string) bool {
	return before != "" && (inName(before[len(before)-1]) || strings.ContainsRune("./\\", rune(before[len(before)-1])))
}

// beginsWithName takes a full stop for the end of a sentence if nothing follows.
func beginsWithName(after string) bool {
	after = strings.TrimLeft(after, ".")
	return after != "" && inName(after[0])
}

func inName(b byte) bool {
	return b == '_' || b == '-' || '0' <= b && b <= '9' || 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || b >= 0x80
}
