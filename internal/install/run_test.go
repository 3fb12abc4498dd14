package install

import (
	"strings"
	"testing"
)

// The next step comes from the end of what a tool printed. A warning long before it is no cause.
func TestRemedy(t *testing.T) {
	early, late := "warning: timed out, trying again\n", "error: no space left on device\n"
	rest := strings.Repeat("compiling\n", remedyBytes/10)
	for _, c := range []struct{ name, said, want string }{
		{"at the end", rest + late, "the disk is full"},
		{"at both", early + late, "the disk is full"},
		{"at the start of much", early + rest, ""},
		{"at the start of little", early, "reaches its package index"},
		{"of an unknown cause", "error: no", ""},
	} {
		if got := remedyIn([]byte(c.said)); !strings.Contains(got, c.want) || (c.want == "") != (got == "") {
			t.Errorf("%s: %q, want %q in it", c.name, got, c.want)
		}
	}
}
