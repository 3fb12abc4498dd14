package finding

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// TestStatus has each way of a finding through the versions. A word is runs on one version:
// x shows it, o could have and does not, - says nothing.
func TestStatus(t *testing.T) {
	for story, want := range map[string]string{
		"11:x":                       "open",
		"11:x 12:-":                  "open",
		"11:x 12:o":                  "open; not seen on 0.4.12, where 0 of 1 setups were run as often as it takes",
		"11:x 12:ooo":                "fixed in 0.4.12",
		"11:x 12:oo- 13:o":           "open; not seen on 0.4.13, where 0 of 1 setups were run as often as it takes",
		"11:x 12:ooo 13:o":           "fixed in 0.4.12",
		"11:x 12:oox":                "open",
		"11:xooo 12:ooo":             "open; not seen on 0.4.12, where 0 of 1 setups were run as often as it takes",
		"11:xooo 12:oooooooo":        "fixed in 0.4.12",
		"11:x 12:ooo 13:x":           "regressed in 0.4.13 (fixed in 0.4.12)",
		"11:x 12:ooo 13:x 14:o":      "regressed in 0.4.13 (fixed in 0.4.12)",
		"11:x 12:ooo 13:x 14:oooooo": "fixed in 0.4.14",
		"9:ooo 11:x":                 "open", // it came with that version
		"11:x 9:ooo":                 "open",
		"12-rc1:x 9:ooo":             "open",
		"11:x 12-rc1:x 12:ooo":       "fixed in 0.4.12",
		"9:x 10:ooo":                 "fixed in 0.4.10",
		"11:x nonsense:ooo":          "open",
		"11:x 12:oou":                "open; not seen on 0.4.12, where 0 of 1 setups were run as often as it takes", // u: a low load
		"11:x 12:ooo?":               "open",                                                                        // ?: it may show it
		"11:x 11:y 12:ooo":           "open; not seen on 0.4.12, where 1 of 2 setups were run as often as it takes", // y, p: as x and o, of another scenario
		"11:x 11:y 12:ooo 12:ppp":    "fixed in 0.4.12",
		"11:x 12:ccc":                "open", // c: the claim fails in another way
	} {
		all := Make(toldBy(story), nil).Findings
		f := all[slices.IndexFunc(all, func(f Finding) bool { return f.Kind == "lost" })]
		if strings.Contains(story, "?") { // the like of which nobody is blamed, so that the two are one
			f.Status.Tried = nil
		}
		if got := f.Status.String(); got != want {
			t.Errorf("%s: %s, want %s", story, got, want)
		}
	}
}

// toldBy are the runs of a story, as [TestStatus] writes it. Each is a day after the last.
func toldBy(story string) (runs []Run) {
	for _, word := range strings.Fields(story) {
		version, shows, _ := strings.Cut(word, ":")
		for i, c := range shows {
			lost, other := failing("loss", "lost", verdict.Broker, 1), func(r *Run) { r.Scenario = "mqtt/soak" }
			change := map[rune]with{
				'x': lost, 'o': holding("loss"), '-': holding("order"), 'y': func(r *Run) { other(r); lost(r) }, 'p': func(r *Run) { other(r); holding("loss")(r) },
				'c': failing("loss", "corrupted", verdict.Broker, 1), '?': failing("loss", "lost", "", 1), 'u': func(r *Run) { holding("loss")(r); r.Report.Shortfalls = []verdict.Shortfall{{Kind: verdict.Underload}} },
			}[c]
			runs = append(runs, storedRun(fmt.Sprintf("v%s-%c%d", version, c, i), change, func(r *Run) { r.Version = "robustmq 0.4." + version }))
		}
	}
	for i := range runs {
		runs[i].Started = time.Date(2026, 11, 1+i, 0, 0, 0, 0, time.UTC)
	}
	return runs
}

// TestHistory checks what each version showed, and by which runs the status changed.
func TestHistory(t *testing.T) {
	all := Make(toldBy("10:oo 11:xo 12:oooooo 13:x 14:o"), nil)
	var history, events []string
	for _, h := range all.Findings[0].History {
		history = append(history, fmt.Sprintf("%s: %d of %d, %d to %d, %s", h.Version, h.Failed, h.Of, h.First.Day(), h.Last.Day(), h.State))
	}
	for _, e := range all.Events() {
		events = append(events, fmt.Sprintf("%s in %s on %d", e.State, e.Version, e.Time.Day()))
	}
	if want := []string{"0.4.10: 0 of 2, 1 to 2, open", "0.4.11: 1 of 2, 3 to 4, open", "0.4.12: 0 of 6, 5 to 10, fixed", "0.4.13: 1 of 1, 11 to 11, regressed", "0.4.14: 0 of 1, 12 to 12, regressed"}; !slices.Equal(history, want) {
		t.Errorf("%q", history)
	}
	if want := []string{"regressed in 0.4.13 on 11", "fixed in 0.4.12 on 9", "open in 0.4.11 on 3"}; !slices.Equal(events, want) {
		t.Errorf("%q", events)
	}
}

// A run on a later version is no proof where it could not have shown the finding, or was of
// another setup.
func TestFixedNeedsTheSameSetup(t *testing.T) {
	for name, change := range map[string]with{
		"another scenario":   func(r *Run) { r.Scenario = "mqtt/soak" },
		"another tier":       func(r *Run) { r.Tier = "release" },
		"another library":    sdk("python/y@2"),
		"a fault not landed": func(r *Run) { r.Report.Landings[0].State = history.NotLanded },
		"another broker":     func(r *Run) { r.Flavor, r.Version = "mosquitto", "mosquitto 2.1" },
	} {
		runs := []Run{storedRun("a", failing("loss", "lost", verdict.Broker, 1))}
		for i := range 4 {
			runs = append(runs, storedRun(fmt.Sprint("b", i), holding("loss"), func(r *Run) { r.Version = "robustmq 0.4.12" }, change))
		}
		if got := Make(runs, nil).Findings[0].Status; got.State != Open {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// A finding of a library follows the library's versions, on one broker.
func TestStatusOfALibrary(t *testing.T) {
	runs := []Run{storedRun("a", failing("sdk-honest", "false", "", 1))}
	for i := range 3 {
		runs = append(runs, storedRun(fmt.Sprint("b", i), holding("sdk-honest"), sdk("go/x@2")))
	}
	if got := Make(runs, nil).Findings[0].Status.String(); got != "fixed in 2.0.0" {
		t.Error(got)
	}
}

// A finding's part is not fixed by runs that show the rest of it: nobody has looked at them.
func TestStatusOfAPart(t *testing.T) {
	lost, newer := failing("loss", "lost", verdict.Broker, 1), func(r *Run) { r.Version = "robustmq 0.4.12" }
	runs := []Run{storedRun("a", lost), storedRun("b", lost)}
	id := Make(runs, nil).Findings[0].ID
	for i := range 3 {
		runs = append(runs, storedRun(fmt.Sprint("c", i), lost, newer))
	}
	for _, f := range Make(runs, []Part{{id, []string{"b"}, "after a restart"}}).Findings {
		if f.Status.State != Open {
			t.Errorf("%s: %s", f, f.Status)
		}
	}
}

// The setups to repeat are those that showed a finding, with a run that can be repeated.
func TestRepeat(t *testing.T) {
	lost := failing("loss", "lost", verdict.Broker, 1)
	f := Make([]Run{
		storedRun("a", lost), storedRun("b", lost, repeatable), storedRun("c", holding("loss")), storedRun("d", lost, func(r *Run) { r.Scenario = "mqtt/soak" }), storedRun("e", holding("loss"), sdk("python/y@2")),
	}, nil).Findings[0]
	var got []string
	for _, r := range f.Repeat {
		got = append(got, fmt.Sprintf("%s %s %d", r.Setup.Scenario, r.RunID, r.Needed))
	}
	if want := []string{"mqtt/broker-kill-9 b 4", "mqtt/soak d 3"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
