package plain

import (
	"path/filepath"
	"testing"
)

func TestPlaceless(t *testing.T) {
	home := filepath.Join(t.TempDir(), "me")
	t.Setenv("HOME", home)
	for in, want := range map[string]string{
		"in /var/lib/state/runs/a":          "in STATE/runs/a",
		"--state-dir /var/lib/state.":       "--state-dir STATE.",
		`{"dir":"/var/lib/state"}`:          `{"dir":"STATE"}`,
		"/var/lib/statement, /var/lib/stat": "/var/lib/statement, /var/lib/stat",
		"/var/lib/state.old":                "/var/lib/state.old",
		"/srv/var/lib/state":                "/srv/var/lib/state",
		"--binary=" + home + "/bin/broker":  "--binary=HOME/bin/broker",
		"src/me/a.rs":                       "src/me/a.rs",
	} {
		if got := Placeless(in, "/var/lib/state"); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
	if got := Placeless("a/b of / and //", "/"); got != "a/b of / and //" {
		t.Errorf("without the root it is %q", got)
	}
	if got := replacePath(`{"dir":"C:\\me\\x"}`, `C:\\me`, "HOME"); got != `{"dir":"HOME\\x"}` {
		t.Error(got)
	}
}
