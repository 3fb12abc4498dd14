package shrink

import (
	"slices"
	"testing"
)

// A choice ends at what has nothing simpler that fails, and tries nothing else.
func TestChoice(t *testing.T) {
	simpler := map[string][]string{"all": {"leader", "some"}, "some": {"one", "none"}}
	ch := Choice[string]{
		Name: "target", Value: func(c string) string { return c }, With: func(_, v string) string { return v },
		Simpler: func(v string) []string { return simpler[v] },
	}
	for _, c := range []struct {
		fails, tried []string
		want         string
	}{
		{nil, []string{"leader", "some"}, "all"},
		{[]string{"some", "none"}, []string{"leader", "some", "one", "none"}, "none"},
		{[]string{"leader", "some"}, []string{"leader"}, "leader"},
	} {
		var tried []string
		got, smaller, err := ch.Shrink("all", func(v, _ string) (Answer, error) {
			tried = append(tried, v)
			if slices.Contains(c.fails, v) {
				return Fails, nil
			}
			return Passes, nil
		})
		if err != nil || got != c.want || smaller != (got != "all") || !slices.Equal(tried, c.tried) {
			t.Errorf("%v fail: %s, smaller %v, %v; tried %v, want %s and %v", c.fails, got, smaller, err, tried, c.want, c.tried)
		}
	}
}
