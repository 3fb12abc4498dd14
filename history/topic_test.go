package history

import "testing"

func TestMatches(t *testing.T) {
	for _, test := range []struct {
		filter, topic string
		want          bool
	}{
		{"a", "a", true},
		{"a", "b", false},
		{"a", "a/b", false},
		{"a/b", "a", false},
		{"a/b", "a/b", true},
		{"#", "a", true},
		{"#", "a/b/c", true},
		{"a/#", "a", true},
		{"a/#", "a/b", true},
		{"a/#", "a/b/c", true},
		{"a/#", "ab", false},
		{"a/b/#", "a", false},
		{"+", "a", true},
		{"+", "a/b", false},
		{"+", "/a", false},
		{"+/+", "/a", true},
		{"/+", "/a", true},
		{"a/+", "a/", true},
		{"a/+", "a", false},
		{"a/+/c", "a/b/c", true},
		{"a/+/c", "a/b/d", false},
		{"+/b/#", "a/b/c/d", true},
		{"+/+/#", "a", false},
		{"#", "$SYS/x", false},
		{"+/x", "$SYS/x", false},
		{"$SYS/#", "$SYS/x", true},
		{"a/#", "a/$x", true},
		{"$share/g/a/#", "a/b", true},
		{"$share/g/a/#", "b", false},
	} {
		if got := Matches(test.filter, test.topic); got != test.want {
			t.Errorf("Matches(%q, %q) = %v", test.filter, test.topic, got)
		}
	}
}
