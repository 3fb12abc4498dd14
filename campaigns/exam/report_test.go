package exam

import "testing"

// The line about a round counts as the table below it does: what is known is no violation,
// and a statement that lost its verdict is not one violation fewer.
func TestConformanceCompared(t *testing.T) {
	rows := func(broker string, verdicts ...string) Report {
		c := Report{Broker: broker}
		for i, v := range verdicts {
			row := Row{Protocol: "MQTT 5.0", Name: "group/" + string(rune('a'+i)), Verdict: v}
			if v == known {
				row.Verdict, row.Known = "violates", "it says so itself"
			}
			c.Results = append(c.Results, row)
		}
		return c
	}
	before := rows("1.0", "conforms", "violates", "violates", "known", "conforms", "conforms")
	now := rows("1.1", "violates", "undecided", "conforms", "known", "undecided", "known")
	const counted = "1.1: 6 checks, 1 conform, 1 violate, 2 known, 0 unsupported, 2 undecided"
	for _, test := range []struct {
		before *Report
		want   string
	}{
		{nil, counted},
		{&before, counted + "; 1 that 1.0 did not have (MQTT 5.0 group/a), 1 fewer, 2 no longer decided"},
		{&now, counted + "; 0 that 1.1 did not have, 0 fewer"},
	} {
		if got := now.Compared(test.before); got != test.want {
			t.Errorf("%s\nwant %s", got, test.want)
		}
	}
}
