package code

import (
	"context"
	"testing"
)

// A place is there with its file, its line and each name; or a word says what is not.
func TestCheck(t *testing.T) {
	tree, err := ReadTree(context.Background(), placed(t, source), "")
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"src/raft-store/src/apply.rs":                                "",
		"src/raft-store/src/apply.rs:7 Store::apply":                 "",
		"raft-store/src/apply.rs:7 (self.entries.get(key).unwrap())": "",
		"`src/raft-store/src/apply.rs:5` method `apply`":             "",
		"src/raft-store/src/apply.rs, function connect":              "",
		"src/raft-store/src/apply.rs:700":                            "src/raft-store/src/apply.rs has no line 700",
		"src/raft-store/src/apply.rs:7 Store::commit":                `src/raft-store/src/apply.rs has no "commit"`,
		"src/raft-store/src/none.rs":                                 "there is no such file",
		"src/apply.rs":                                               "there are 2 such files",
		"somewhere in the raft store":                                "it does not begin with the path of a file",
		"../../etc/passwd.rs":                                        "there is no such file",
	} {
		got := Check(tree, []string{place})[0]
		if got.Why != want || got.There != (want == "") || got.Place != place {
			t.Errorf("%q: %+v, want %q", place, got, want)
		}
	}
}
