package scenarios

import (
	"testing"

	"github.com/robustmq/rmq-mcp/internal/envelope"
)

// A scenario that was read can be planned in every tier and for every flavor.
func FuzzParse(f *testing.F) {
	all, err := Library()
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range all {
		f.Add([]byte(s.Text))
	}
	f.Add([]byte("---\nname: x\nschedule: [{fault: kill, at_s: .nan}]\n---\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("fuzz", text)
		if err != nil {
			return
		}
		for _, flavor := range []string{"", "reference", "robustmq", "mosquitto", "external"} {
			for _, name := range []string{"", "smoke", "hardening", "release"} {
				tier, err := s.Tier(name, flavor)
				if err != nil {
					continue
				}
				s.Planned(tier)
				s.Budget(tier)
				if rate := s.Rate(flavor); !(rate >= 0) {
					t.Fatalf("a rate of %v", rate)
				}
				_ = s.Within(envelope.Default("/state"), tier)
			}
		}
	})
}
