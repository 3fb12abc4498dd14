package plan

import "testing"

// A plan that was read can be shown: nothing in it is worse than wrong.
func FuzzParse(f *testing.F) {
	f.Add([]byte(Example))
	f.Add([]byte("---\nname: x\nscenarios: [{id: S1, model: {seeds: [1.5]}}]\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		for _, s := range p.Scenarios {
			_ = s.Model.Cluster()
		}
	})
}
