package verdict

import "testing"

func TestWhichRunsCount(t *testing.T) {
	for _, c := range []struct {
		name          string
		kinds         []Kind
		counts, holds bool
	}{
		{"a pass", nil, true, true},
		{"a baseline", []Kind{BudgetShort, NoFault, SmokeTier, OneSeed}, true, true},
		{"a fault that did not land", []Kind{FaultNotLanded, OneSeed}, false, false},
		{"a fault that this host has not", []Kind{FaultUnsupported}, false, false},
		{"too short", []Kind{BudgetMissed}, false, false},
		{"a low load, which a violation may bring about", []Kind{Underload, OneSeed}, true, false},
		{"another claim is unknown", []Kind{CheckerUnknown}, true, true},
	} {
		var list []Shortfall
		for _, k := range c.kinds {
			list = append(list, Shortfall{Kind: k})
		}
		if Counts(list) != c.counts || Holds(list) != c.holds {
			t.Errorf("%s: counts %t, holds %t", c.name, Counts(list), Holds(list))
		}
	}
}
