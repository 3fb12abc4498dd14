package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/robustmq/rmq-mcp/history"
	"github.com/robustmq/rmq-mcp/judge/verdict"
	"github.com/robustmq/rmq-mcp/reports"
)

// TestStatus has each way of a finding through the versions. A word is runs on one version:
// x shows it, o could have and does not, - says nothing.
func TestStatus(t *testing.T) {
	for story, want := range map[string]string{
		"11:x":                       "open",
		"11:x 12:-":                  "open",
		"11:x 12:o":                  "open; not seen in 1 of 3 runs needed on robustmq 0.4.12",
		"11:x 12:ooo":                "fixed in robustmq 0.4.12",
		"11:x 12:oo- 13:o":           "open; not seen in 1 of 3 runs needed on robustmq 0.4.13",
		"11:x 12:ooo 13:o":           "fixed in robustmq 0.4.12",
		"11:x 12:oox":                "open",
		"11:xooo 12:ooo":             "open; not seen in 3 of 8 runs needed on robustmq 0.4.12",
		"11:x 12:ooo 13:x":           "regressed in robustmq 0.4.13 (fixed in robustmq 0.4.12)",
		"11:x 12:ooo 13:x 14:o":      "regressed in robustmq 0.4.13 (fixed in robustmq 0.4.12)",
		"11:x 12:ooo 13:x 14:oooooo": "fixed in robustmq 0.4.14",
		"9:ooo 11:x":                 "open", // it came with that version
		"11:x 9:ooo":                 "open",
	} {
		var runs []Run
		for _, word := range strings.Fields(story) {
			version, shows, _ := strings.Cut(word, ":")
			for i, c := range shows {
				with := map[rune]with{'x': failing("loss", "lost", verdict.Broker, 1), 'o': holding("loss"), '-': holding("order")}[c]
				runs = append(runs, storedRun(fmt.Sprintf("v%s-%d", version, i), with, func(r *Run) { r.Version = "robustmq 0.4." + version }))
			}
		}
		if got := Make(runs, nil).Findings[0].Status.String(); got != want {
			t.Errorf("%s: %s, want %s", story, got, want)
		}
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
	if got := Make(runs, nil).Findings[0].Status.String(); got != "fixed in 2" {
		t.Error(got)
	}
}

func TestNeeded(t *testing.T) {
	for before, want := range map[reports.Times]int{{Failed: 1, Of: 1}: 3, {Failed: 5, Of: 5}: 3, {Failed: 1, Of: 2}: 5, {Failed: 2, Of: 6}: 7, {Failed: 1, Of: 20}: 32} {
		if got := Needed(before); got != want {
			t.Errorf("%+v: %d, want %d", before, got, want)
		}
	}
}
