package code

import (
	"context"
	"strings"
	"testing"
)

// A place is there with its file, its lines and each name of code. Prose is no name.
func TestCheck(t *testing.T) {
	tree, err := ReadTree(context.Background(), placed(t, source), "")
	if err != nil {
		t.Fatal(err)
	}
	for place, want := range map[string]string{
		"src/raft-store/src/apply.rs":                                          "there",
		"src/raft-store/src/apply.rs:7 Store::apply":                           "there",
		"raft-store/src/apply.rs:7 (self.entries.get(key).unwrap())":           "there",
		"`src/raft-store/src/apply.rs:5` method `apply`":                       "there",
		"src/raft-store/src/apply.rs#L5-L8 connect":                            "there",
		"src/raft-store/src/apply.rs:7 — missing fsync before it acknowledges": "there",
		"src/raft-store/src/apply.rs:700":                                      "not there: src/raft-store/src/apply.rs has no line 700",
		"src/raft-store/src/apply.rs:7-900":                                    "not there: src/raft-store/src/apply.rs has no line 900",
		"src/raft-store/src/apply.rs:7 Store::app":                             `not there: src/raft-store/src/apply.rs has no "app"`,
		"src/raft-store/src/apply.rs:7 commit()":                               `not there: src/raft-store/src/apply.rs has no "commit"`,
		"src/raft-store/src/none.rs":                                           "not there: there is no such file",
		"deep/src/raft-store/src/apply.rs":                                     "not there: there is no such file",
		"../../etc/passwd.rs":                                                  "not there: there is no such file",
		"src/apply.rs":                                                         "not checked: there are 2 such files",
		"Cargo.toml:12":                                                        "not checked: the server looks at source files alone",
		"somewhere in the raft store":                                          "not checked: it does not begin with the path of a file",
	} {
		tree.Notes = nil
		got := Check(tree, []string{place})[0]
		if said := strings.TrimSuffix(got.Found+": "+got.Why, ": "); said != want || got.Place != place {
			t.Errorf("%q: %s, want %s", place, said, want)
		}
	}
}
