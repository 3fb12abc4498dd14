package plain

import "testing"

func TestShellWord(t *testing.T) {
	for word, want := range map[string]string{"": "''", "a/b.c": "a/b.c", "a b": "'a b'", "it's": `'it'\''s'`, "$HOME": "'$HOME'"} {
		if got := ShellWord(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
