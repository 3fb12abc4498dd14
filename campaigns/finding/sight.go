package finding

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robustmq/rmq-mcp/judge/verdict"
)

// ourLibrary is the client that is made with this program. Its faults are the harness's.
const ourLibrary = "go/rmq-mcp"

// eitherTitle is the title of violations that nobody is blamed for, where both the broker and
// their library are blamed for such in other runs.
const eitherTitle = "the broker's or the library's"

// A sight is a finding in one run.
type sight struct {
	run     Run
	result  verdict.Result
	count   int64
	listed  bool // and not counted
	decided bool // the party is to blame in this run, too
	example string
}

// sights are what runs show.
type sights struct {
	of    map[Key]map[string]*sight // by run
	none  map[decision]bool         // runs and claims with violations that are no finding
	notes []string
}

// sightsOf are the sights of all runs. Runs with a planted defect are left out, and so is all
// that is the fault of the harness or of its machine.
func sightsOf(runs []Run) *sights {
	all, by := &sights{of: map[Key]map[string]*sight{}, none: map[decision]bool{}}, decisions(runs)
	for _, r := range runs {
		if r.Report == nil || r.Planted != "" || !r.Report.Verdict.State.Failed() {
			continue
		}
		for _, result := range r.Report.Verdict.Results {
			if result.Status == verdict.Fail {
				all.see(r, result, by)
			}
		}
	}
	return all
}

// see adds what one failed claim of a run shows, and notes what of it is no finding.
func (all *sights) see(r Run, result verdict.Result, by decided) {
	left := map[string]int64{}
	var reasons []string
	for _, v := range r.violations(result) {
		key, why := r.key(result.Claim, v, by)
		if why == "" {
			all.add(key, sight{run: r, result: result, count: v.count, listed: v.listed, decided: key.Party != verdict.Undecided, example: v.example})
			continue
		}
		if left[why] == 0 {
			reasons = append(reasons, why)
		}
		left[why] += v.count
	}
	for _, why := range reasons {
		all.none[decision{r.ID, result.Claim.Name}] = true
		all.notes = append(all.notes, fmt.Sprintf("run %s: %d violations of %s are no finding: %s", r.ID, left[why], result.Claim.Name, why))
	}
}

// add counts more of a finding in a run. Its example is of what was decided, where some was.
func (all *sights) add(key Key, s sight) {
	if all.of[key] == nil {
		all.of[key] = map[string]*sight{}
	}
	known := all.of[key][s.run.ID]
	if known == nil {
		all.of[key][s.run.ID] = &s
		return
	}
	known.count, known.listed = known.count+s.count, known.listed || s.listed
	if s.decided && !known.decided {
		known.decided, known.example = true, s.example
	}
}

// remove takes one run out of a finding.
func (all *sights) remove(key Key, run string) {
	delete(all.of[key], run)
	if len(all.of[key]) == 0 {
		delete(all.of, key)
	}
}

// keys are the findings in a fixed order.
func (all *sights) keys() (list []Key) {
	for key := range all.of {
		list = append(list, key)
	}
	slices.SortFunc(list, Key.compare)
	return list
}

// key is the finding of a violation, or why it is none. The packets tell the party, else
// comparisons do.
func (r Run) key(claim verdict.Claim, v violation, by decided) (key Key, why string) {
	party := v.blame
	if claim.Of == verdict.SDK {
		party = verdict.SDK
	}
	if v.kind == verdict.KindPanic || v.kind == verdict.KindExit { // the node's log or its end says so
		party = verdict.Broker
	}
	if party == "" || party == verdict.Undecided {
		party = by[decision{r.Report.ID, claim.Name}]
	}
	if party == "" {
		party = verdict.Undecided
	}
	key = Key{Claim: claim.Name, Kind: v.kind, Place: v.place, Party: party, Subject: r.flavor()}
	switch party {
	case verdict.Broker, verdict.Undecided:
	case verdict.SDK:
		switch key.Subject = v.library; {
		case r.starved():
			return key, "the host stood still, and a library can do nothing then"
		case v.library == "":
			return key, "the report does not tell which of its libraries it was"
		case v.library == ourLibrary:
			return key, "it is the doing of this program's own client"
		}
	default:
		return key, "the " + string(party) + " is to blame"
	}
	return key, ""
}

// join adds violations without a party to those of the same claim and kind that are
// blamed on the same broker. They are among its runs, and are blamed on nobody. Those of a
// library that is blamed for such, too, stay apart.
func (all *sights) join() {
	for _, key := range all.keys() {
		broker, either := key, key
		broker.Party, either.Title = verdict.Broker, eitherTitle
		if key.Party != verdict.Undecided || len(all.of[broker]) == 0 {
			continue
		}
		for _, id := range sorted(all.of[key]) {
			s := all.of[key][id]
			all.remove(key, id)
			if all.accused(key, s.run) {
				all.add(either, *s)
			} else {
				all.add(broker, *s)
			}
		}
	}
}

// accused reports whether a library of a run is blamed for the like of a finding.
func (all *sights) accused(key Key, r Run) bool {
	for _, sdk := range r.Report.SDKs {
		library := key
		library.Party, library.Subject = verdict.SDK, sdk.Name
		if len(all.of[library]) > 0 {
			return true
		}
	}
	return false
}

// doubtful reports whether a run may show a finding: it shows another one, by violations of
// which nobody knows the party, the place or the part.
func (all *sights) doubtful(key Key, r Run) bool {
	for other, of := range all.of {
		if other != key && of[r.ID] != nil && key.maybe(other) {
			return true
		}
	}
	result := r.result(key.Claim)
	untold := result != nil && result.Status == verdict.Fail && len(result.Violations) == 0 || key.Kind == verdict.KindPanic && r.Report.PanicsCut
	return all.none[decision{r.ID, key.Claim}] || untold && all.of[key][r.ID] == nil
}

// could reports whether a run counts among those in which a finding could have been seen:
// it shows the finding, or it holds the claim, or each of its violations is known to be
// something else.
func (all *sights) could(key Key, r Run) bool {
	result := r.result(key.Claim)
	if result == nil || r.Planted != "" || !r.told() {
		return false
	}
	switch {
	case all.of[key][r.ID] != nil:
		return true
	case result.Status == verdict.Pass: // by a checker that sees what is not there
		return result.Canary.Red
	}
	return result.Status == verdict.Fail && !all.doubtful(key, r)
}

// maybe reports whether a run that shows another finding may show this one by the same
// violations: nobody knows their party, or their place.
func (k Key) maybe(other Key) bool {
	if other.Claim != k.Claim || other.Kind != k.Kind {
		return false
	}
	unknown := other.Party == verdict.Undecided && (other.Title == "" || other.Title == eitherTitle)
	unparted := k.Title != "" && k.Title != eitherTitle && other.Title == "" // nobody has looked at it yet
	return unknown || unparted && other.Place == k.Place || (k.Place == "") != (other.Place == "")
}

// like are the IDs of the other findings of the same claim and kind.
func (all *sights) like(key Key) (ids []string) {
	for _, other := range all.keys() {
		if other != key && other.Claim == key.Claim && other.Kind == key.Kind {
			ids = append(ids, other.ID())
		}
	}
	return ids
}

// concerns reports whether a run says something of the subject of a finding: it is on the
// broker, or with the library.
func (k Key) concerns(r Run) bool {
	if k.Party != verdict.SDK {
		return r.flavor() == k.Subject
	}
	return slices.ContainsFunc(strings.Split(r.SDK, ", "), func(sdk string) bool {
		name, _, _ := strings.Cut(sdk, "@")
		return name == k.Subject
	})
}
