package finding

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// ourLibrary is the client that is made with this program. Its faults are the harness's.
const ourLibrary = "go/rmq-mcp"

// A sight is a finding in one run.
type sight struct {
	run     Run
	result  verdict.Result
	count   int64
	listed  bool // and not counted
	example string
}

// sights are those of each finding, by run.
type sights map[Key]map[string]*sight

// sightsOf are the sights of all runs, and notes on failures that are no finding. Runs with
// a planted defect are left out, and so is all that is the fault of the harness or of its
// machine.
func sightsOf(runs []Run) (sights, []string) {
	all, by := sights{}, decisions(runs)
	var notes []string
	for _, r := range runs {
		if r.Report == nil || r.Planted != "" || !r.Report.Verdict.State.Failed() {
			continue
		}
		for _, result := range r.Report.Verdict.Results {
			if result.Status == verdict.Fail {
				notes = append(notes, all.see(r, result, by)...)
			}
		}
	}
	return all, notes
}

// see adds what one failed claim of a run shows. It returns a note for each reason why
// something of it is no finding.
func (all sights) see(r Run, result verdict.Result, by decided) (notes []string) {
	for _, v := range r.violations(result) {
		key, why := r.key(result.Claim, v, by)
		if why != "" {
			note := fmt.Sprintf("run %s fails %s, and that is no finding: %s", r.ID, result.Claim.Name, why)
			if !slices.Contains(notes, note) {
				notes = append(notes, note)
			}
			continue
		}
		all.add(key, sight{run: r, result: result, count: v.count, listed: v.listed, example: v.example})
	}
	return notes
}

// add counts more of a finding in a run.
func (all sights) add(key Key, s sight) {
	if all[key] == nil {
		all[key] = map[string]*sight{}
	}
	if known := all[key][s.run.ID]; known != nil {
		known.count, known.listed = known.count+s.count, known.listed || s.listed
	} else {
		all[key][s.run.ID] = &s
	}
}

// key is the finding of a violation, or why it is none. The packets tell the party, else
// comparisons do.
func (r Run) key(claim verdict.Claim, v violation, by decided) (key Key, why string) {
	party := v.blame
	if claim.Of == verdict.SDK {
		party = verdict.SDK
	}
	if party == "" || party == verdict.Undecided {
		party = by[[2]string{r.Report.ID, claim.Name}]
	}
	key = Key{Claim: claim.Name, Kind: v.kind, Party: party, Subject: r.flavor()}
	switch party {
	case verdict.Broker:
	case verdict.SDK:
		switch key.Subject = v.library; {
		case r.starved():
			return key, "the host stood still, which makes a library late"
		case v.library == "":
			return key, "the report does not tell which of its libraries it was"
		case v.library == ourLibrary:
			return key, "it is the doing of this program's own client"
		}
	case "", verdict.Undecided:
		key.Party = verdict.Undecided
	default:
		return key, "it is blamed on the " + string(party)
	}
	return key, ""
}

// join adds violations without a party to those of the same claim and kind that are
// blamed on the same broker. It keeps them apart where their library is blamed for such, too.
func (all sights) join() {
	for key, of := range maps.Clone(all) {
		broker := key
		broker.Party = verdict.Broker
		if key.Party != verdict.Undecided || len(all[broker]) == 0 {
			continue
		}
		delete(all, key)
		if all.byLibrary(key, of) {
			broker.Party, broker.Title = verdict.Undecided, "the broker's or the library's"
		}
		for _, s := range of {
			all.add(broker, *s)
		}
	}
}

// byLibrary reports whether one of the libraries of some sights is blamed for the same.
func (all sights) byLibrary(key Key, of map[string]*sight) bool {
	for other := range all {
		if other.Party != verdict.SDK || other.Claim != key.Claim || other.Kind != key.Kind {
			continue
		}
		for _, s := range of {
			if strings.Contains(s.run.SDK, other.Subject+"@") {
				return true
			}
		}
	}
	return false
}

// like are the sights of other findings of the same claim and kind, by run.
func (all sights) like(key Key) (runs map[string]bool, ids []string) {
	runs = map[string]bool{}
	for other, of := range all {
		if other != key && other.Claim == key.Claim && other.Kind == key.Kind {
			for id := range of {
				runs[id] = true
			}
			ids = append(ids, other.ID())
		}
	}
	slices.Sort(ids)
	return runs, ids
}
