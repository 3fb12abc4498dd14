package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRoles(t *testing.T) {
	nodes := func(n int) *Cluster {
		p := &plan{}
		for _, name := range nodeNames(n) {
			p.nodes = append(p.nodes, &Node{name: name})
		}
		return newCluster(external{}, p, 7)
	}
	for _, c := range []struct {
		role  string
		nodes int
		want  int // how many; 0: an error
	}{
		{"node-2", 3, 1}, {"node-4", 3, 0}, {"any", 3, 1}, {"all", 3, 3},
		{"majority", 3, 2}, {"majority", 1, 1}, {"majority", 4, 3},
		{"minority", 3, 1}, {"minority", 5, 2}, {"minority", 1, 0}, {"king", 3, 0},
	} {
		got, err := nodes(c.nodes).Resolve(t.Context(), c.role, "")
		again, _ := nodes(c.nodes).Resolve(t.Context(), c.role, "")
		if len(got) != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%s of %d: %d nodes, %v; want %d", c.role, c.nodes, len(got), err, c.want)
		}
		if diff := cmp.Diff(namesOf(got), namesOf(again)); diff != "" {
			t.Errorf("%s of %d: one seed, two choices:\n%s", c.role, c.nodes, diff)
		}
	}
}

func namesOf(nodes []*Node) []string {
	var names []string
	for _, n := range nodes {
		names = append(names, n.Name())
	}
	return names
}
