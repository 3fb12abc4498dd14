package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// A paged log shows so many messages at once, from the offset that it begins with.
type paged struct {
	flavor
	begins, messages, page int64
	fails                  int64 // from this offset on; 0: never
}

func (p paged) log(_ context.Context, _ *Node, _ string, from int64) (some []Stored, err error) {
	if p.fails > 0 && from >= p.fails {
		return nil, errors.New("the page is broken")
	}
	for at := max(from, p.begins); at < p.begins+p.messages && at < from+p.page; at++ {
		some = append(some, Stored{Offset: at, Payload: fmt.Sprint(at)})
	}
	return some, nil
}

func TestReadLog(t *testing.T) {
	for name, test := range map[string]struct {
		of   flavor
		want int
		err  string
	}{
		"nothing":                 {paged{page: 100}, 0, ""},
		"one page":                {paged{messages: 7, page: 100}, 7, ""},
		"several pages":           {paged{messages: 250, page: 100}, 250, ""},
		"whole pages":             {paged{messages: 200, page: 100}, 200, ""},
		"its beginning is gone":   {paged{begins: 3, messages: 5, page: 100}, 0, "read the log of a/b at node-1: it begins with offset 3, what was before is gone: not possible here: unsupported operation"},
		"a page is broken":        {paged{messages: 250, page: 100, fails: 200}, 200, "read the log of a/b at node-1: the page is broken"},
		"of a flavor without one": {reference{}, 0, "read the log of a/b: reference shows none: not possible here: unsupported operation"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &Cluster{flavor: test.of}
			c.info.Flavor = "reference"
			var got []int64
			err := c.ReadLog(t.Context(), &Node{name: "node-1"}, "a/b", func(m Stored) { got = append(got, m.Offset) })
			if test.err == "" && err != nil || test.err != "" && (err == nil || err.Error() != test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
			if len(got) != test.want || !slices.IsSorted(got) {
				t.Errorf("%d messages, want %d: %v", len(got), test.want, got)
			}
		})
	}
}
